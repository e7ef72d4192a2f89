import { statements } from "./statements.ts"

/**
 * Adds what a backup's restore would lack, whether its restored content was compared with it, and labels of up to 100
 * characters. A branch that is `temporary` serves such a comparison alone.
 */
export const backupChecks = statements(
  `alter table svc.backups
     add full_label text check (char_length(full_label) between 1 and 100),
     add warnings text[] not null default '{}',
     add verification text check (verification in ('waiting', 'running', 'passed', 'failed', 'skipped')),
     add verify_attempts integer not null default 0,
     add verify_seen timestamptz,
     add verified_at timestamptz,
     add verify_error text`,
  `comment on column svc.backups.full_label is 'the whole label, of which label has at most 60 characters'`,
  "comment on column svc.backups.verify_seen is 'while running, when it last reported'",
  "alter table svc.branches add temporary boolean not null default false"
)
