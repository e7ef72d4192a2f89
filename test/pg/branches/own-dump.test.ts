import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { on, withDatabase } from "../../support/branches/database.ts"
import { directory } from "../../support/dumps/databases.ts"
import { place } from "../../support/dumps/native.ts"
import { everythingSql } from "../../support/rows/everythingDatabase.ts"

/** `pg_dump` by the login that the branch's creator was given. */
const dumped = ({ connection }: Branch, ...options: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const { stdout } = await promisify(execFile)(join(place ?? "", "pg_dump"), [...options, connection], {
      maxBuffer: 64 * 1024 * 1024
    })
    return stdout
  })

for (const strategy of ["copy", "dump"]) {
  it.live.skipIf(place === undefined)(
    `pg_dump works by the connection of a branch that is a ${strategy}`,
    () =>
      Effect.gen(function* () {
        const dumps = yield* directory
        yield* withDatabase(
          "branch_own_dump",
          (database) =>
            Effect.gen(function* () {
              yield* on(
                database,
                "create schema crm",
                "create table crm.users (id int primary key, email text)",
                "insert into crm.users values (1, 'ann@example.com')",
                "alter table crm.users enable row level security",
                "revoke all on crm.users from public",
                "alter default privileges revoke execute on functions from public",
                // Its event trigger raises.
                everythingSql
              )
              const branches = yield* Branches
              const branch = yield* branches.create({ label: "mine" })
              const text = yield* dumped(branch)
              assert.include(text, "ann@example.com")
              assert.include(text, "-- PostgreSQL database dump complete")
              assert.include(yield* dumped(branch, "--table=svc_ddl.fingerprint"), "COPY svc_ddl.fingerprint (value)")
            }),
          { settings: { SVC_BRANCH_STRATEGY: strategy, SVC_BACKUP_DIR: dumps } }
        )
      }).pipe(Effect.scoped),
    120_000
  )
}
