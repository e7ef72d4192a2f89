/**
 * Extensions that `supabase db pull` and `db dump` write into every file, whether a project uses them or not, with the
 * schemas in which those files create them. The embedded server has placeholders for them, without functions;
 * those of pgmq are in the database without it (docs/queues.md).
 */
export const placeholders = {
  pg_graphql: "graphql",
  pgmq: "pgmq",
  pgjwt: "extensions",
  pgsodium: "pgsodium",
  supabase_vault: "vault"
} as const
