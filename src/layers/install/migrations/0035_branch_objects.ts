import { statements } from "./statements.ts"

/** Adds the time whose objects storage shows with a branch. */
export const branchObjects = statements("alter table svc.branches add objects_at timestamptz")
