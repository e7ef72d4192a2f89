import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Author } from "../../domain/Author.ts"
import { type FlagChange, type FlagPromotion, type NewFlag } from "../../domain/flags/Flag.ts"
import {
  changedFlag,
  createdFlag,
  isSameFlag,
  promotedFlag,
  unchangeableProblems,
  segmentsOfFlag,
  type StoredFlag,
  toggledFlag,
  touchedEnvironments
} from "../../domain/flags/Edits.ts"
import { type FlagEnvironment, flagEnvironments } from "../../domain/flags/Environment.ts"
import { flagNotFound, type FlagProblem, problemLines } from "../../domain/flags/Problem.ts"
import { flagProblems } from "../../domain/flags/Problems.ts"
import { Conflict, InvalidRequest, type NotFound, PreconditionFailed, type Unavailable } from "../../domain/errors.ts"
import { type Expected, isExpected, type JsonRecord } from "../../domain/Revision.ts"
import { makeFlagRecords } from "./Records.ts"
import { FlagSettings } from "./Settings.ts"
import { FlagWriter } from "./Writer.ts"
import { onOwnTables, type OwnTablesFailure } from "../OwnTables.ts"

type Selected = FlagEnvironment | undefined
type Refused = NotFound | InvalidRequest | PreconditionFailed | Unavailable

const mismatch = (revision: number) =>
  new PreconditionFailed({ error: `If-Match does not match: the flag is at revision ${revision}` })

const invalid = (problems: ReadonlyArray<FlagProblem>) =>
  new InvalidRequest({ error: "Invalid flag", code: "INVALID_FLAG", details: problemLines(problems) })

/**
 * Manages feature flags (spec: Feature flags). Each environment has its own state, rule and default variant; the default
 * environment is FLAGS_ENVIRONMENT. Answers carry the revision, and a write checks the expected revision in its
 * transaction. A change that has no effect creates neither a revision nor a history entry.
 */
export class Flags extends Context.Service<
  Flags,
  {
    /** A JSON array, in order of the keys. */
    readonly list: (selected: Selected) => Effect.Effect<string, Unavailable>
    readonly find: (key: string, selected: Selected) => Effect.Effect<JsonRecord, NotFound | Unavailable>
    readonly create: (
      author: Author,
      given: NewFlag,
      selected: Selected
    ) => Effect.Effect<JsonRecord, InvalidRequest | Conflict | Unavailable>
    readonly update: (
      author: Author,
      key: string,
      change: FlagChange,
      selected: Selected,
      expected: Expected
    ) => Effect.Effect<JsonRecord, Refused>
    readonly toggle: (
      author: Author,
      key: string,
      selected: Selected,
      expected: Expected
    ) => Effect.Effect<JsonRecord, Refused>
    /** The answer shows the target environment. */
    readonly promote: (
      author: Author,
      key: string,
      promotion: FlagPromotion,
      expected: Expected
    ) => Effect.Effect<JsonRecord, Refused>
    readonly remove: (author: Author, key: string, expected: Expected) => Effect.Effect<void, Refused>
  }
>()("svc/services/Flags") {
  static readonly layer = Layer.effect(
    Flags,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const records = makeFlagRecords(sql)
      const writer = yield* FlagWriter
      const { environment: defaultEnvironment } = yield* FlagSettings

      const list = (selected: Selected) =>
        Effect.map(
          onOwnTables(records.flagsJson(selected ?? defaultEnvironment)),
          (all) => `[${all.map(({ json }) => json).join(",")}]`
        )

      const find = Effect.fn("Flags.find")(function* (key: string, selected: Selected) {
        const [found] = yield* onOwnTables(records.flagsJson(selected ?? defaultEnvironment, key))
        return found ?? (yield* flagNotFound(key))
      })

      const stored = (key: string, selected: Selected) =>
        Effect.map(records.flagsJson(selected ?? defaultEnvironment, key), ([found]) => found as JsonRecord)

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

      const deleteUsage = (key: string) => sql.unsafe("delete from svc.flag_usage where key = $1", [key])

      const create = Effect.fn("Flags.create")((author: Author, given: NewFlag, selected: Selected) => {
        const { key } = given
        const flag = createdFlag(given)
        const plan = Effect.gen(function* () {
          if ((yield* records.flag(key)) !== undefined) {
            return yield* new Conflict({ error: `Flag ${key} already exists`, code: "FLAG_EXISTS" })
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
            store: (revision: number) => Effect.andThen(deleteUsage(key), put(flag, revision))
          }
        })
        return writer.write(author, plan, stored(key, selected))
      })

      /** Changes an existing flag. `make` returns the new flag, validated. */
      const edit = <E>(
        author: Author,
        key: string,
        given: {
          readonly action: "updated" | "toggled" | "promoted"
          /** The environment of the history entry, unless the change affects all of them. */
          readonly environment: FlagEnvironment
          readonly expected: Expected
        },
        make: (flag: StoredFlag) => Effect.Effect<StoredFlag, E | OwnTablesFailure>
      ) => {
        const plan = Effect.gen(function* () {
          const flag = yield* expectedFlag(key, given.expected)
          const next = yield* make(flag)
          if (isSameFlag(flag, next)) return undefined
          const touched = touchedEnvironments(flag, next)
          return {
            kind: "flag" as const,
            key,
            action: given.action,
            environment: touched.length === 1 ? given.environment : null,
            before: flag,
            after: next,
            touched,
            store: (revision: number) => put(next, revision)
          }
        })
        return writer.write(author, plan, stored(key, given.environment))
      }

      const expectedFlag = Effect.fnUntraced(function* (key: string, expected: Expected) {
        const found = yield* records.flag(key)
        if (found === undefined) return yield* flagNotFound(key)
        if (!isExpected(found.revision, expected)) return yield* mismatch(found.revision)
        return found.record
      })

      const update = Effect.fn("Flags.update")((
        author: Author,
        key: string,
        change: FlagChange,
        selected: Selected,
        expected: Expected
      ) => {
        const environment = selected ?? defaultEnvironment
        return edit(author, key, { action: "updated", environment, expected }, (flag) =>
          Effect.gen(function* () {
            const problems = unchangeableProblems(flag, change)
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
        const environment = selected ?? defaultEnvironment
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
        const plan = Effect.map(expectedFlag(key, expected), (flag) => ({
          kind: "flag" as const,
          key,
          action: "deleted" as const,
          environment: null,
          before: flag,
          after: null,
          touched: flagEnvironments,
          store: () => Effect.andThen(deleteUsage(key), sql.unsafe("delete from svc.flags where key = $1", [key]))
        }))
        return writer.write(author, plan, Effect.void)
      })

      return Flags.of({ list, find, create, update, toggle, promote, remove })
    })
  )
}
