import { statements } from "./statements.ts"

/** Which of the user's migration files were run, where no other tool keeps track of that. */
export const appliedMigrations = statements(
  `create table svc.applied_migrations (
     name text primary key,
     checksum text not null,
     applied_at timestamptz not null default clock_timestamp()
   )`
)
