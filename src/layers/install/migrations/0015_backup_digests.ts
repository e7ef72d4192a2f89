import { statements } from "./statements.ts"

/** SHA-256 of each backup's file, which every restore verifies. */
export const backupDigests = statements("alter table svc.backups add sha256 text check (sha256 ~ '^[0-9a-f]{64}$')")
