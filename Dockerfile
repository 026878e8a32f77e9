# The daemon in an image: docker build -t musterd . ; docs/operations.md tells how to run it, and
# config/compose.yaml runs it with a Postgres, Prometheus and Grafana. The mirror is a Postgres of yours
# (DATABASE_URL): the embedded one is not in here.

# Digests name the same images forever: --build-arg NODE=node@sha256:… --build-arg RUNTIME=…
ARG NODE=node:24-slim
ARG RUNTIME=gcr.io/distroless/nodejs24-debian13:nonroot

# What is built is the same for each platform, so that one machine builds for others, too.
FROM --platform=$BUILDPLATFORM ${NODE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY config/checkout config/checkout
RUN npm ci
COPY LICENSE tsconfig.json ./
COPY scripts scripts
COPY migrations migrations
COPY src src
# The page hands it out.
COPY docs/guide.md docs/guide.md
# The packages are within dist. What plays the service is for rehearsals, outside of the image.
RUN npm run -s build && rm -r dist/emulator dist/library
RUN node scripts/sbom.ts > sbom.cdx.json

# Node and its libraries: neither a shell nor a package manager.
FROM ${RUNTIME}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="musterd"
LABEL org.opencontainers.image.description="Keeps a messaging team and its Postgres mirror equal, both ways"
LABEL org.opencontainers.image.licenses="MIT"
LABEL org.opencontainers.image.version="${VERSION}"
LABEL org.opencontainers.image.revision="${REVISION}"
LABEL musterd.sbom="/musterd/sbom.cdx.json"
ENV NODE_ENV=production
ENV PATH=/nodejs/bin
# Reached from outside of the container, where somebody publishes the port or shares a network with it.
ENV MUSTERD__status__host=0.0.0.0
ENV MUSTERD__status__port=9464
WORKDIR /musterd
COPY --from=build /build/package.json /build/LICENSE /build/sbom.cdx.json ./
COPY --from=build /build/migrations migrations
COPY --from=build /build/dist dist
USER 65532:65532
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["node", "dist/healthcheck.js"]
# No shell and no npm in between: they would keep SIGTERM for themselves.
# At SIGUSR1 Node would open a debugger.
ENTRYPOINT ["node", "--disable-sigusr1", "dist/main.js"]
CMD ["daemon"]
