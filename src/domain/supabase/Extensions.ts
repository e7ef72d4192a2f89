/**
 * Extensions that `supabase db pull` and `db dump` write into every file, whether a project uses them or not, with the
 * schemas in which those files create them. The embedded server has placeholders for them, without functions; those of
 * pgmq and pg_cron are the service's own, in the schemas pgmq and cron.
 */
export const placeholders = {
  pg_cron: "pg_catalog",
  pg_graphql: "graphql",
  pgmq: "pgmq",
  pgjwt: "extensions",
  pgsodium: "pgsodium",
  supabase_vault: "vault"
} as const
