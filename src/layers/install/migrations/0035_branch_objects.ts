import { statements } from "./statements.ts"

/**
 * Adds the time whose objects storage shows with a branch, how many objects the store had when a backup was made, and how
 * many of them are gone or changed when it is restored.
 */
export const branchObjects = statements(
  "alter table svc.branches add objects_at timestamptz",
  "alter table svc.backups add object_count bigint, add object_bytes bigint",
  "alter table svc.restores add objects_gone bigint, add objects_changed bigint"
)
