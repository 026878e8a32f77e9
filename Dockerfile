# The daemon in an image: docker build -t musterd . && docker run --env-file musterd.env --read-only musterd
# The mirror is a Postgres of yours (DATABASE_URL): the embedded one is not in here.

FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY config/node24 config/node24
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run -s build

FROM node:24-slim AS modules
WORKDIR /modules
COPY package.json package-lock.json .npmrc ./
COPY config/node24 config/node24
RUN npm ci --omit=dev --omit=optional

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /musterd
COPY package.json LICENSE ./
COPY --from=modules /modules/node_modules node_modules
COPY --from=build /build/dist dist
COPY migrations migrations
USER node
STOPSIGNAL SIGTERM
# No shell and no npm in between: they would keep SIGTERM for themselves.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["daemon"]
