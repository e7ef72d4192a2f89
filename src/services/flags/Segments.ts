import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Author } from "../../domain/Author.ts"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { type FlagProblem, problemLines, segmentNotFound } from "../../domain/flags/Problem.ts"
import { flagProblems, segmentProblems } from "../../domain/flags/Problems.ts"
import { type FlagSegmentChange, type NewFlagSegment } from "../../domain/flags/Segment.ts"
import {
  changedSegment,
  createdSegment,
  environmentsUsing,
  unchangeableSegmentProblems,
  type StoredSegment
} from "../../domain/flags/Edits.ts"
import { FlagSegmentsInlined, segmentsUsedBy } from "../../domain/flags/SegmentsInlined.ts"
import { Conflict, InvalidRequest, type NotFound, PreconditionFailed, type Unavailable } from "../../domain/errors.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { type Expected, isExpected, type JsonRecord } from "../../domain/Revision.ts"
import { yieldEvery } from "../LoopTurn.ts"
import { makeFlagRecords } from "./Records.ts"
import { FlagWriter } from "./Writer.ts"
import { onOwnTables } from "../OwnTables.ts"

type Rules = ReadonlyMap<string, JsonObject>

const mismatch = (revision: number) =>
  new PreconditionFailed({ error: `If-Match does not match: the segment is at revision ${revision}` })

const invalid = (error: string, problems: ReadonlyArray<FlagProblem>) =>
  new InvalidRequest({ error, code: "INVALID_SEGMENT", details: problemLines(problems) })

/** Maximum number of invalid flags that an error lists. */
const maxBroken = 5

/** Manages segments (spec: Segment): rules that flags and other segments refer to. Revisions work as in Flags. */
export class FlagSegments extends Context.Service<
  FlagSegments,
  {
    /** A JSON array, in order of the keys. */
    readonly list: Effect.Effect<string, Unavailable>
    readonly find: (key: string) => Effect.Effect<JsonRecord, NotFound | Unavailable>
    readonly create: (
      author: Author,
      given: NewFlagSegment
    ) => Effect.Effect<JsonRecord, InvalidRequest | Conflict | Unavailable>
    /** Updates a segment. A change that would make a flag that uses it invalid is rejected too. */
    readonly update: (
      author: Author,
      key: string,
      change: FlagSegmentChange,
      expected: Expected
    ) => Effect.Effect<JsonRecord, NotFound | InvalidRequest | PreconditionFailed | Unavailable>
    /** 409 `SEGMENT_IN_USE`, with the keys of the flags and segments that refer to it. */
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
      const records = makeFlagRecords(sql)
      const writer = yield* FlagWriter

      const list = Effect.map(
        onOwnTables(records.segmentsJson()),
        (all) => `[${all.map(({ json }) => json).join(",")}]`
      )

      const find = Effect.fn("FlagSegments.find")(function* (key: string) {
        const [found] = yield* onOwnTables(records.segmentsJson(key))
        return found ?? (yield* segmentNotFound(key))
      })

      const stored = (key: string) => Effect.map(records.segmentsJson(key), ([found]) => found as JsonRecord)

      const expectedSegment = Effect.fnUntraced(function* (key: string, expected: Expected) {
        const found = yield* records.segment(key)
        if (found === undefined) return yield* segmentNotFound(key)
        if (!isExpected(found.revision, expected)) return yield* mismatch(found.revision)
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
            return yield* new Conflict({ error: `Segment ${key} already exists`, code: "SEGMENT_EXISTS" })
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
        return writer.write(author, plan, stored(key))
      })

      /** The environments in which flags use the segment. Fails if these rules would make one of the flags invalid. */
      const affectedBy = Effect.fnUntraced(function* (key: string, rules: Rules) {
        const changed = new Set([key, ...new FlagSegmentsInlined(rules).usersOf(key)])
        const touched = new Set<FlagEnvironment>()
        const broken: Array<FlagProblem> = []
        const pause = yield* yieldEvery()
        for (const flag of yield* records.flagsUsing(changed)) {
          for (const environment of environmentsUsing(flag, changed)) touched.add(environment)
          const [problem] = flagProblems(flag, rules)
          if (problem !== undefined && broken.length < maxBroken) {
            broken.push({ path: ["flags", flag.key, ...problem.path], problem: problem.problem })
          }
          yield* pause
        }
        if (broken.length > 0) return yield* invalid("The change would make flags that use the segment invalid", broken)
        return [...touched]
      })

      const update = Effect.fn("FlagSegments.update")((
        author: Author,
        key: string,
        change: FlagSegmentChange,
        expected: Expected
      ) => {
        const plan = Effect.gen(function* () {
          const segment = yield* expectedSegment(key, expected)
          const problems = unchangeableSegmentProblems(segment, change)
          if (problems.length > 0) return yield* invalid("Invalid segment", problems)
          const next = changedSegment(segment, change)
          let touched: ReadonlyArray<FlagEnvironment> = []
          if (change.rules !== undefined) {
            const rules = new Map(yield* records.rules).set(key, next.rules)
            yield* check(next, rules)
            if (JSON.stringify(next.rules) !== JSON.stringify(segment.rules)) touched = yield* affectedBy(key, rules)
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
        return writer.write(author, plan, stored(key))
      })

      const remove = Effect.fn("FlagSegments.remove")((author: Author, key: string, expected: Expected) => {
        const plan = Effect.gen(function* () {
          const segment = yield* expectedSegment(key, expected)
          const { flags, segments } = yield* records.usersOf(key)
          if (flags.length + segments.length > 0) {
            return yield* new Conflict({
              error: `Segment ${key} is in use by flags or segments; see details`,
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
