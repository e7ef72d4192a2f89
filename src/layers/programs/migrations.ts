import { Effect } from "effect"
import { SchemaDifference, type SchemaTarget } from "../../domain/branches/schema/SchemaDifference.ts"
import { MigrationMark, MigrationRun, MigrationStatus } from "../../domain/migrations/Migration.ts"
import { printResult } from "../process/Output.ts"
import { askService, type RunningService } from "./RunningService.ts"

const path = "/api/migrations"

/** A line for each migration that a person has to look at, then the counts and the notes. */
const linesOf = ({ migrations, notes, summary, table }: MigrationStatus) => [
  ...migrations
    .filter(({ problem, status }) => status !== "applied" || problem !== null)
    .map(({ name, problem, status }) => `${status.padEnd(8)}  ${name}${problem === null ? "" : `: ${problem}`}`),
  `${summary.applied} applied, ${summary.pending} pending, ${summary.modified} modified, ${summary.orphaned} orphaned in ${table}`,
  ...notes
]

const print = (first: ReadonlyArray<string>, status: MigrationStatus) =>
  printResult([...first, ...linesOf(status)].join("\n"), status)

const named = (verb: string, names: ReadonlyArray<string>) => names.map((name) => `${verb.padEnd(8)}  ${name}`)

/** `svc migrations status`. */
export const showMigrations = (at: RunningService) =>
  Effect.flatMap(askService(MigrationStatus, "migrations", at, `${path}/idempotent/status`), (status) =>
    print([], status)
  )

/** `svc migrations run`. */
export const runMigrations = (at: RunningService) =>
  Effect.flatMap(askService(MigrationRun, "migrations", at, `${path}/idempotent/run`, {}), (run) =>
    print(named("ran", run.ran), run)
  )

const mark = (at: RunningService, call: string, payload: object, verb: string) =>
  Effect.flatMap(askService(MigrationMark, "migrations", at, `${path}/${call}`, payload), (status) =>
    print(named(verb, status.marked), status)
  )

/** `svc migrations baseline`. */
export const baselineMigrations = (given: RunningService & { readonly through: string }) =>
  mark(given, "baseline", { through: given.through }, "marked")

/** `svc migrations resolve`. */
export const resolveMigration = (
  given: RunningService & { readonly name: string; readonly as: "applied" | "rolled-back" }
) => mark(given, "resolve", { name: given.name, as: given.as === "applied" ? "applied" : "rolled_back" }, "resolved")

interface Compared extends RunningService {
  readonly branch: number
  readonly to: SchemaTarget
}

/** `svc diff`: the difference of two schemas as a migration, on standard output. */
export const printDifference = ({ branch, to, ...at }: Compared) =>
  Effect.flatMap(
    askService(SchemaDifference, "a difference", at, `/api/branches/${branch}/schema-changes?to=${to}`),
    (difference) => printResult(difference.sql.trimEnd() || "-- The schemas are the same", difference)
  )
