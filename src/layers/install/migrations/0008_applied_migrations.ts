import { statements } from "./statements.ts"

/** The user's migration files that were run, unless another tool records them. */
export const appliedMigrations = statements(
  `create table svc.applied_migrations (
     name text primary key,
     checksum text not null,
     applied_at timestamptz not null default clock_timestamp()
   )`
)
