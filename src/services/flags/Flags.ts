import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Author } from "../../domain/Author.ts"
import { type FlagChange, type FlagPromotion, type NewFlag } from "../../domain/flags/Flag.ts"
import {
  changedFlag,
  createdFlag,
  isSameFlag,
  promotedFlag,
  repeatProblems,
  segmentsOfFlag,
  type StoredFlag,
  toggledFlag,
  touchedEnvironments
} from "../../domain/flags/Edits.ts"
import { type FlagEnvironment, flagEnvironments } from "../../domain/flags/Environment.ts"
import { flagNotFound, type FlagProblem, problemLines } from "../../domain/flags/Problem.ts"
import { flagProblems } from "../../domain/flags/Problems.ts"
import { Conflict, InvalidRequest, type NotFound, PreconditionFailed, type Unavailable } from "../../domain/errors.ts"
import { type Expected, isExpected, type Shown } from "../../domain/Revision.ts"
import { makeFlagRecords } from "./Records.ts"
import { FlagSettings } from "./Settings.ts"
import { FlagWriter } from "./Writer.ts"
import { onOwnTables, type OwnTablesFailure } from "../OwnTables.ts"

type Selected = FlagEnvironment | undefined
type Refused = NotFound | InvalidRequest | PreconditionFailed | Unavailable

const changedMeanwhile = (revision: number) =>
  new PreconditionFailed({ error: `The flag is at revision ${revision}, not at that of If-Match` })

const invalid = (problems: ReadonlyArray<FlagProblem>) =>
  new InvalidRequest({ error: "Invalid flag", code: "INVALID_FLAG", details: problemLines(problems) })

/**
 * Feature flags as they are managed (spec: Feature flags). Each environment, FLAGS_ENVIRONMENT unless one is selected,
 * keeps its own state, rule and default variant. Answers come with the revision; what a write expects of it is judged
 * in its transaction. A change that changes nothing is none: it leaves no revision and no history.
 */
export class Flags extends Context.Service<
  Flags,
  {
    /** A JSON array, in order of the keys. */
    readonly list: (selected: Selected) => Effect.Effect<string, Unavailable>
    readonly find: (key: string, selected: Selected) => Effect.Effect<Shown, NotFound | Unavailable>
    readonly create: (
      author: Author,
      given: NewFlag,
      selected: Selected
    ) => Effect.Effect<Shown, InvalidRequest | Conflict | Unavailable>
    readonly update: (
      author: Author,
      key: string,
      change: FlagChange,
      selected: Selected,
      expected: Expected
    ) => Effect.Effect<Shown, Refused>
    readonly toggle: (
      author: Author,
      key: string,
      selected: Selected,
      expected: Expected
    ) => Effect.Effect<Shown, Refused>
    /** Shows the environment that was copied to. */
    readonly promote: (
      author: Author,
      key: string,
      promotion: FlagPromotion,
      expected: Expected
    ) => Effect.Effect<Shown, Refused>
    readonly remove: (author: Author, key: string, expected: Expected) => Effect.Effect<void, Refused>
  }
>()("svc/services/Flags") {
  static readonly layer = Layer.effect(
    Flags,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const records = makeFlagRecords(sql)
      const writer = yield* FlagWriter
      const { environment: usual } = yield* FlagSettings

      const list = (selected: Selected) =>
        Effect.map(
          onOwnTables(records.flagsJson(selected ?? usual)),
          (all) => `[${all.map(({ json }) => json).join(",")}]`
        )

      const find = Effect.fn("Flags.find")(function* (key: string, selected: Selected) {
        const [found] = yield* onOwnTables(records.flagsJson(selected ?? usual, key))
        return found ?? (yield* flagNotFound(key))
      })

      const show = (key: string, selected: Selected) =>
        Effect.map(records.flagsJson(selected ?? usual, key), ([found]) => found as Shown)

      const check = Effect.fnUntraced(function* (flag: StoredFlag, environment?: FlagEnvironment) {
        const problems = flagProblems(flag, yield* records.rules, environment)
        if (problems.length > 0) return yield* invalid(problems)
        return undefined
      })

      const put = (flag: StoredFlag, revision: number) =>
        sql.unsafe(
          `insert into svc.flags (key, type, description, variants, dev, staging, production, uses, revision)
           values ($1, $2, $3, $4::text::json, $5::text::json, $6::text::json, $7::text::json, $8::text[], $9::int8)
           on conflict (key) do update set description = excluded.description, variants = excluded.variants,
             dev = excluded.dev, staging = excluded.staging, production = excluded.production, uses = excluded.uses,
             revision = excluded.revision, updated_at = now()`,
          [
            flag.key,
            flag.type,
            flag.description,
            JSON.stringify(flag.variants),
            JSON.stringify(flag.environments.dev),
            JSON.stringify(flag.environments.staging),
            JSON.stringify(flag.environments.production),
            segmentsOfFlag(flag),
            revision
          ]
        )

      const forget = (key: string) => sql.unsafe("delete from svc.flag_usage where key = $1", [key])

      const create = Effect.fn("Flags.create")((author: Author, given: NewFlag, selected: Selected) => {
        const { key } = given
        const flag = createdFlag(given)
        const plan = Effect.gen(function* () {
          if ((yield* records.flag(key)) !== undefined) {
            return yield* new Conflict({ error: `There is a flag ${key} already`, code: "FLAG_EXISTS" })
          }
          yield* check(flag)
          return {
            kind: "flag" as const,
            key,
            action: "created" as const,
            environment: null,
            before: null,
            after: flag,
            touched: flagEnvironments,
            store: (revision: number) => Effect.andThen(forget(key), put(flag, revision))
          }
        })
        return writer.write(author, plan, show(key, selected))
      })

      /** A write to a flag that is there. `edit` gives the flag as it is to be, checked. */
      const edit = <E>(
        author: Author,
        key: string,
        how: {
          readonly action: "updated" | "toggled" | "promoted"
          /** Of the history entry, unless all are touched. */
          readonly environment: FlagEnvironment
          readonly expected: Expected
        },
        make: (flag: StoredFlag) => Effect.Effect<StoredFlag, E | OwnTablesFailure>
      ) => {
        const plan = Effect.gen(function* () {
          const flag = yield* present(key, how.expected)
          const next = yield* make(flag)
          if (isSameFlag(flag, next)) return undefined
          const touched = touchedEnvironments(flag, next)
          return {
            kind: "flag" as const,
            key,
            action: how.action,
            environment: touched.length === 1 ? how.environment : null,
            before: flag,
            after: next,
            touched,
            store: (revision: number) => put(next, revision)
          }
        })
        return writer.write(author, plan, show(key, how.environment))
      }

      const present = Effect.fnUntraced(function* (key: string, expected: Expected) {
        const found = yield* records.flag(key)
        if (found === undefined) return yield* flagNotFound(key)
        if (!isExpected(found.revision, expected)) return yield* changedMeanwhile(found.revision)
        return found.record
      })

      const update = Effect.fn("Flags.update")((
        author: Author,
        key: string,
        change: FlagChange,
        selected: Selected,
        expected: Expected
      ) => {
        const environment = selected ?? usual
        return edit(author, key, { action: "updated", environment, expected }, (flag) =>
          Effect.gen(function* () {
            const problems = repeatProblems(flag, change)
            if (problems.length > 0) return yield* invalid(problems)
            const next = changedFlag(flag, change, environment)
            if (["variants", "targeting", "defaultVariant"].some((name) => Object.hasOwn(change, name))) {
              yield* check(next, environment)
            }
            return next
          })
        )
      })

      const toggle = Effect.fn("Flags.toggle")((
        author: Author,
        key: string,
        selected: Selected,
        expected: Expected
      ) => {
        const environment = selected ?? usual
        return edit(author, key, { action: "toggled", environment, expected }, (flag) =>
          Effect.succeed(toggledFlag(flag, environment))
        )
      })

      const promote = Effect.fn("Flags.promote")(
        (author: Author, key: string, promotion: FlagPromotion, expected: Expected) =>
          edit(author, key, { action: "promoted", environment: promotion.to, expected }, (flag) =>
            Effect.succeed(promotedFlag(flag, promotion))
          )
      )

      const remove = Effect.fn("Flags.remove")((author: Author, key: string, expected: Expected) => {
        const plan = Effect.map(present(key, expected), (flag) => ({
          kind: "flag" as const,
          key,
          action: "deleted" as const,
          environment: null,
          before: flag,
          after: null,
          touched: flagEnvironments,
          store: () => Effect.andThen(forget(key), sql.unsafe("delete from svc.flags where key = $1", [key]))
        }))
        return writer.write(author, plan, Effect.void)
      })

      return Flags.of({ list, find, create, update, toggle, promote, remove })
    })
  )
}
