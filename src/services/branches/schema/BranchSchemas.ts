import { Context, Effect, Layer, Semaphore } from "effect"
import { type BranchId, branchNames } from "../../../domain/branches/Branch.ts"
import {
  type SchemaDifference,
  type SchemaRun,
  type SchemaTarget
} from "../../../domain/branches/schema/SchemaDifference.ts"
import { Conflict, GatewayTimeout } from "../../../domain/errors.ts"
import { type MigrationRun } from "../../../domain/migrations/Migration.ts"
import { Migrations } from "../../migrations/Migrations.ts"
import { type Database, Db, serviceActor, type SqlSession } from "../../ports/Db.ts"
import { SchemaPlanner } from "../../ports/branches/SchemaPlanner.ts"
import { Branches } from "../Branches.ts"
import { type CompareFailure, compareFailure } from "../CompareFailure.ts"

/** Comparisons at a time in a process; each has both schemas in memory. */
const atOnce = 2
const comparisonTime = "2 minutes"

const snapshot = "begin isolation level repeatable read read only"

const changed = new Conflict({
  error: "The main database's schema changed since it was compared; nothing was run",
  code: "SCHEMA_CHANGED",
  hint: "Compare again, and review the new statements"
})

/** Loaded when it is first needed: few services compare schemas. */
const readSchema = (session: SqlSession) =>
  Effect.flatMap(
    Effect.promise(() => import("./Extraction.ts")),
    ({ readSchema }) => readSchema(session)
  )

/** Compares schemas of branches with the main database's, and runs what makes them equal. */
export class BranchSchemas extends Context.Service<
  BranchSchemas,
  {
    /** 422 `SCHEMA_NOT_EXPRESSIBLE`, `SCHEMA_TOO_LARGE`, 504 `SCHEMA_TIMEOUT`. */
    readonly difference: (id: BranchId, to: SchemaTarget) => Effect.Effect<SchemaDifference, CompareFailure>
    /** Fails as `Migrations.addAndRun` does, or with 409 `SCHEMA_CHANGED`. */
    readonly run: (id: BranchId, given: SchemaRun) => Effect.Effect<MigrationRun, CompareFailure>
  }
>()("svc/services/BranchSchemas") {
  static readonly layer = Layer.effect(
    BranchSchemas,
    Effect.gen(function* () {
      const branches = yield* Branches
      const migrations = yield* Migrations
      const planner = yield* SchemaPlanner
      const { main } = yield* Db
      const turns = yield* Semaphore.make(atOnce)

      const read = Effect.fnUntraced(function* (database: Database) {
        const session = yield* database.session(serviceActor)
        yield* session.query(snapshot, [], 1)
        return yield* readSchema(session)
      }, Effect.scoped)

      const difference = Effect.fn("BranchSchemas.difference")(function* (id: BranchId, to: SchemaTarget) {
        const branch = yield* branches.database(id, "service_role")
        const [there, here] = yield* Effect.all([read(branch), read(main)], { concurrency: 2 })
        return yield* to === "main" ? planner.difference(here, there, to) : planner.difference(there, here, to)
      })

      const run = Effect.fn("BranchSchemas.run")(function* (id: BranchId, { fingerprint, name, sql }: SchemaRun) {
        const branch = yield* branches.database(id, "service_role")
        const check = Effect.fnUntraced(function* (session: SqlSession) {
          if (fingerprint === null) return
          const now = yield* planner.fingerprint(yield* readSchema(session), branchNames(branch.name).role)
          if (now !== fingerprint) return yield* changed
        })
        return yield* migrations.addAndRun({ name, sql }, check)
      })

      return BranchSchemas.of({
        difference: (id, to) =>
          turns
            .withPermits(1)(difference(id, to))
            .pipe(
              Effect.catchTag("DatabaseError", (error) => Effect.fail(compareFailure(error))),
              Effect.timeoutOrElse({
                duration: comparisonTime,
                orElse: () =>
                  Effect.fail(
                    new GatewayTimeout({
                      error: `The comparison took over ${comparisonTime}`,
                      code: "SCHEMA_TIMEOUT",
                      hint: "Try again when the databases have less to do"
                    })
                  )
              })
            ),
        run
      })
    })
  )
}
