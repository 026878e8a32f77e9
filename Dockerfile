# The daemon in an image: docker build -t musterd . ; docs/operations.md tells how to run it, and
# config/compose.yaml runs it with a Postgres, Prometheus and Grafana. The mirror is a Postgres of yours
# (DATABASE_URL): the embedded one is not in here. Why the last stage begins with nothing at all:
# docs/decisions/0008-image-from-nothing.md

# By a digest (--build-arg NODE=node@sha256:…) the same image comes out again.
ARG NODE=node:24-slim

# Of the platform that the image is for. Nothing of it is run, so that one machine builds for others, too.
FROM ${NODE} AS target

FROM --platform=$BUILDPLATFORM ${NODE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY config/checkout config/checkout
RUN npm ci
COPY LICENSE tsconfig.json bundle.ts entry-points.ts image-root.ts ./
COPY migrations migrations
COPY src src
# The page hands it out.
COPY docs/guide.md docs/guide.md
# The packages are within dist.
RUN npm run -s build
RUN --mount=type=bind,from=target,target=/target node image-root.ts /target image

# What follows is also what "npm run image" builds, without a daemon and without the stages above.
FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="musterd"
LABEL org.opencontainers.image.description="Keeps a messaging team and its Postgres mirror equal, both ways"
LABEL org.opencontainers.image.licenses="MIT"
LABEL org.opencontainers.image.version="${VERSION}"
LABEL org.opencontainers.image.revision="${REVISION}"
LABEL musterd.sbom="/musterd/sbom.cdx.json"
ENV NODE_ENV=production
ENV PATH=/usr/local/bin
# Reached from outside of the container, where somebody publishes the port or shares a network with it.
ENV MUSTERD__status__host=0.0.0.0
ENV MUSTERD__status__port=9464
COPY --from=build /build/image/runtime/ /
WORKDIR /musterd
COPY --from=build /build/image/program/ ./
USER 65532:65532
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["node", "dist/healthcheck.js"]
# No shell and no npm in between: they would keep SIGTERM for themselves.
# At SIGUSR1 Node would open a debugger.
ENTRYPOINT ["node", "--disable-sigusr1", "dist/main.js"]
CMD ["daemon"]
