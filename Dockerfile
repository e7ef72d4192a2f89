# syntax=docker/dockerfile:1
# The image contains the archive of its platform (docs/install.md), which the first stage makes from the sources.
ARG BASE=debian:12-slim

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-update-notifier
COPY tsconfig.json releases.json CHANGELOG.md README.md LICENSE NOTICE .env.example ./
COPY scripts ./scripts
COPY src ./src
COPY dashboard ./dashboard
COPY examples/todo ./examples/todo
COPY docs/*.md ./docs/
COPY deploy ./deploy
# The commit that `svc version` names: --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT=unknown
RUN npm run build:dashboard \
  && SVC_BUILD_COMMIT=$COMMIT npm run release -- --archive --snapshot --level 1 \
  && mv release/svc-*-linux-*/ /svc

# PostgreSQL's client programs (pg_dump, pg_restore, psql), from PostgreSQL's own repository, because Debian's are older than
# current servers. A Debian package contains the key of that repository. To build with Debian's packages only:
#   --build-arg PGDG= --build-arg POSTGRES_CLIENT=postgresql-client-15
FROM ${BASE} AS client
ARG PGDG=https://apt.postgresql.org/pub/repos/apt
ARG POSTGRES_CLIENT=postgresql-client-18
RUN apt-get update \
  && mkdir /client /packages \
  && cd /packages \
  && if [ -n "$PGDG" ]; then \
    . /etc/os-release \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && apt-get download postgresql-common \
    && dpkg-deb --extract postgresql-common_*.deb /pgdg \
    && rm postgresql-common_*.deb \
    && install --mode=644 /pgdg/usr/share/postgresql-common/pgdg/apt.postgresql.org.asc /usr/share/keyrings/pgdg.asc \
    && echo "deb [signed-by=/usr/share/keyrings/pgdg.asc] $PGDG $VERSION_CODENAME-pgdg main" \
      > /etc/apt/sources.list.d/pgdg.list \
    && apt-get update; \
  fi \
  && apt-get download "$POSTGRES_CLIENT" libpq5 \
  && for package in *.deb; do dpkg-deb --extract "$package" /client || exit 1; done \
  && mkdir --parents /clients/bin /clients/lib \
  && mv /client/usr/lib/postgresql/*/bin/pg_dump /client/usr/lib/postgresql/*/bin/pg_restore \
    /client/usr/lib/postgresql/*/bin/psql /clients/bin/ \
  && mv /client/usr/lib/*/libpq.so.5* /clients/lib/

FROM ${BASE}
# What those programs and their library need, without Perl and its modules.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends \
    ca-certificates libgssapi-krb5-2 libldap-2.5-0 liblz4-1 libreadline8 libssl3 libstdc++6 libzstd1 zlib1g \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --gid 1000 svc \
  && useradd --uid 1000 --gid svc --home-dir /data --no-create-home --shell /usr/sbin/nologin svc \
  # Embedded data, generated secrets and backups. The service runs without root; PostgreSQL refuses to run as root.
  && install --directory --owner=svc --group=svc --mode=700 /data
COPY --from=client /clients/bin /usr/local/bin
COPY --from=client /clients/lib /usr/local/lib
RUN ldconfig && pg_dump --version && pg_restore --version && psql --version
COPY --from=build /svc /opt/svc

USER svc
ENV PATH=/opt/svc/bin:/usr/local/bin:/usr/bin:/bin NODE_ENV=production HOST=0.0.0.0 PORT=3000 SVC_DATA_DIR=/data
# Metrics and probes, for this container only unless SVC_OPERATIONS_HOST and SVC_OPERATIONS_KEY are set.
ENV SVC_OPERATIONS_PORT=9464
WORKDIR /data
VOLUME /data
EXPOSE 3000 8013 8015 8016 9000
STOPSIGNAL SIGTERM
# Each check starts a Node.
HEALTHCHECK --interval=30s --timeout=3s --start-period=60s --retries=3 \
  CMD ["/opt/svc/node/node", "-e", "fetch('http://127.0.0.1:' + (process.env.SVC_OPERATIONS_PORT || process.env.PORT) + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["svc", "start"]
