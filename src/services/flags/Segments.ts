import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Author } from "../../domain/Author.ts"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { type FlagProblem, problemLines } from "../../domain/flags/Problem.ts"
import { flagProblems, segmentProblems } from "../../domain/flags/Problems.ts"
import { type FlagSegmentChange, type NewFlagSegment } from "../../domain/flags/Segment.ts"
import {
  changedSegment,
  createdSegment,
  environmentsUsing,
  segmentRepeatProblems,
  type StoredSegment
} from "../../domain/flags/SegmentEdits.ts"
import { FlagSegmentsInlined, segmentsUsedBy } from "../../domain/flags/SegmentsInlined.ts"
import { Conflict, InvalidRequest, NotFound, PreconditionFailed, type Unavailable } from "../../domain/errors.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { type Expected, isExpected, type Shown } from "../../domain/Revision.ts"
import { yieldEvery } from "../YieldEvery.ts"
import { FlagRecords } from "./Records.ts"
import { FlagWriter } from "./Writer.ts"
import { onOwnTables } from "../OwnTables.ts"

type Rules = ReadonlyMap<string, JsonObject>

const notThere = (key: string) =>
  new NotFound({ error: `There is no segment ${key.slice(0, 200)}`, code: "SEGMENT_NOT_FOUND" })

const changedMeanwhile = (revision: number) =>
  new PreconditionFailed({ error: `The segment is at revision ${revision}, not at that of If-Match` })

const invalid = (error: string, problems: ReadonlyArray<FlagProblem>) =>
  new InvalidRequest({ error, code: "INVALID_SEGMENT", details: problemLines(problems) })

/** How many flags that a change would break are told of. */
const mostBroken = 5

/** Segments (spec: Segment): rules that flags and other segments refer to. See Flags about revisions. */
export class FlagSegments extends Context.Service<
  FlagSegments,
  {
    /** A JSON array, in order of the keys. */
    readonly list: Effect.Effect<string, Unavailable>
    readonly find: (key: string) => Effect.Effect<Shown, NotFound | Unavailable>
    readonly create: (
      author: Author,
      given: NewFlagSegment
    ) => Effect.Effect<Shown, InvalidRequest | Conflict | Unavailable>
    /** Refused too when a flag that uses it would not be valid any more. */
    readonly update: (
      author: Author,
      key: string,
      change: FlagSegmentChange,
      expected: Expected
    ) => Effect.Effect<Shown, NotFound | InvalidRequest | PreconditionFailed | Unavailable>
    /** 409 `SEGMENT_IN_USE`, with the keys of what refers to it. */
    readonly remove: (
      author: Author,
      key: string,
      expected: Expected
    ) => Effect.Effect<void, NotFound | Conflict | PreconditionFailed | Unavailable>
  }
>()("svc/services/FlagSegments") {
  static readonly layer = Layer.effect(
    FlagSegments,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const records = yield* FlagRecords
      const writer = yield* FlagWriter

      const list = Effect.map(
        onOwnTables(records.showSegments()),
        (all) => `[${all.map(({ json }) => json).join(",")}]`
      )

      const find = Effect.fn("FlagSegments.find")(function* (key: string) {
        const [found] = yield* onOwnTables(records.showSegments(key))
        return found ?? (yield* notThere(key))
      })

      const show = (key: string) => Effect.map(records.showSegments(key), ([found]) => found as Shown)

      const present = Effect.fnUntraced(function* (key: string, expected: Expected) {
        const found = yield* records.segment(key)
        if (found === undefined) return yield* notThere(key)
        if (!isExpected(found.revision, expected)) return yield* changedMeanwhile(found.revision)
        return found.record
      })

      const check = Effect.fnUntraced(function* ({ key, rules }: StoredSegment, all: Rules) {
        const problems = segmentProblems(key, rules, all)
        if (problems.length > 0) return yield* invalid("Invalid segment", problems)
        return undefined
      })

      const put = (segment: StoredSegment, revision: number) =>
        sql.unsafe(
          `insert into svc.flag_segments (key, name, description, rules, uses, revision)
           values ($1, $2, $3, $4::text::json, $5::text[], $6::int8)
           on conflict (key) do update set name = excluded.name, description = excluded.description,
             rules = excluded.rules, uses = excluded.uses, revision = excluded.revision, updated_at = now()`,
          [
            segment.key,
            segment.name,
            segment.description,
            JSON.stringify(segment.rules),
            segmentsUsedBy(segment.rules),
            revision
          ]
        )

      const create = Effect.fn("FlagSegments.create")((author: Author, given: NewFlagSegment) => {
        const segment = createdSegment(given)
        const { key } = segment
        const plan = Effect.gen(function* () {
          if ((yield* records.segment(key)) !== undefined) {
            return yield* new Conflict({ error: `There is a segment ${key} already`, code: "SEGMENT_EXISTS" })
          }
          yield* check(segment, yield* records.rules)
          return {
            kind: "segment" as const,
            key,
            action: "created" as const,
            environment: null,
            before: null,
            after: segment,
            touched: [],
            store: (revision: number) => put(segment, revision)
          }
        })
        return writer.write(author, plan, show(key))
      })

      /** Where flags are evaluated by it; fails when one of them would not be valid with these rules. */
      const consequences = Effect.fnUntraced(function* (key: string, rules: Rules) {
        const changed = new Set([key, ...new FlagSegmentsInlined(rules).usersOf(key)])
        const touched = new Set<FlagEnvironment>()
        const broken: Array<FlagProblem> = []
        const pause = yield* yieldEvery()
        for (const flag of yield* records.flagsUsing(changed)) {
          for (const environment of environmentsUsing(flag, changed)) touched.add(environment)
          const [problem] = flagProblems(flag, rules)
          if (problem !== undefined && broken.length < mostBroken) {
            broken.push({ path: ["flags", flag.key, ...problem.path], problem: problem.problem })
          }
          yield* pause
        }
        if (broken.length > 0) return yield* invalid("Flags that use the segment would not be valid any more", broken)
        return [...touched]
      })

      const update = Effect.fn("FlagSegments.update")((
        author: Author,
        key: string,
        change: FlagSegmentChange,
        expected: Expected
      ) => {
        const plan = Effect.gen(function* () {
          const segment = yield* present(key, expected)
          const problems = segmentRepeatProblems(segment, change)
          if (problems.length > 0) return yield* invalid("Invalid segment", problems)
          const next = changedSegment(segment, change)
          let touched: ReadonlyArray<FlagEnvironment> = []
          if (change.rules !== undefined) {
            const rules = new Map(yield* records.rules).set(key, next.rules)
            yield* check(next, rules)
            if (JSON.stringify(next.rules) !== JSON.stringify(segment.rules)) touched = yield* consequences(key, rules)
          }
          if (JSON.stringify(next) === JSON.stringify(segment)) return undefined
          return {
            kind: "segment" as const,
            key,
            action: "updated" as const,
            environment: null,
            before: segment,
            after: next,
            touched,
            store: (revision: number) => put(next, revision)
          }
        })
        return writer.write(author, plan, show(key))
      })

      const remove = Effect.fn("FlagSegments.remove")((author: Author, key: string, expected: Expected) => {
        const plan = Effect.gen(function* () {
          const segment = yield* present(key, expected)
          const { flags, segments } = yield* records.usersOf(key)
          if (flags.length + segments.length > 0) {
            return yield* new Conflict({
              error: `The segment ${key} is used by flags or segments, see details`,
              code: "SEGMENT_IN_USE",
              details: { flags, segments }
            })
          }
          return {
            kind: "segment" as const,
            key,
            action: "deleted" as const,
            environment: null,
            before: segment,
            after: null,
            touched: [],
            store: () => sql.unsafe("delete from svc.flag_segments where key = $1", [key])
          }
        })
        return writer.write(author, plan, Effect.void)
      })

      return FlagSegments.of({ list, find, create, update, remove })
    })
  )
}
