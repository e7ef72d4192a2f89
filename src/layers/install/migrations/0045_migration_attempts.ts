import { statements } from "./statements.ts"

/**
 * Adds the attempts to apply a migration file outside of a transaction: what failed or never finished may have changed
 * something. Prisma's history has its own. `history` is the table of the history.
 */
export const migrationAttempts = statements(
  `create table svc.migration_attempts (
     history text not null,
     name text not null,
     started_at timestamptz not null default now(),
     failed_at timestamptz,
     error text,
     kept integer,
     primary key (history, name)
   )`
)
