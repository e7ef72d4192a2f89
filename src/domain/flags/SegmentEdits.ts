import { type FlagEnvironment, flagEnvironments } from "./Environment.ts"
import { type StoredFlag } from "./Edits.ts"
import { type FlagProblem } from "./Problem.ts"
import { type FlagSegmentChange, type NewFlagSegment, segmentKeyOf } from "./Segment.ts"
import { segmentsUsedBy } from "./SegmentsInlined.ts"
import { type JsonObject } from "../text/JsonObject.ts"

/** A segment as it is stored and as its history keeps it. */
export interface StoredSegment {
  readonly key: string
  readonly name: string
  readonly description: string | null
  readonly rules: JsonObject
}

/** The rules of all segments, from their JSON texts. */
export const storedRules = (
  rows: ReadonlyArray<{ readonly key: string; readonly rules: string }>
): ReadonlyMap<string, JsonObject> => new Map(rows.map(({ key, rules }) => [key, JSON.parse(rules) as JsonObject]))

export const createdSegment = (given: NewFlagSegment): StoredSegment => {
  const { description = null, name = "", rules } = given
  return { key: segmentKeyOf(given), name, description, rules }
}

export const changedSegment = (segment: StoredSegment, change: FlagSegmentChange): StoredSegment => {
  const { description = segment.description, name = segment.name, rules = segment.rules } = change
  return { key: segment.key, name, description, rules }
}

/** What a change repeats of the segment but says otherwise. */
export const segmentRepeatProblems = (segment: StoredSegment, change: FlagSegmentChange): ReadonlyArray<FlagProblem> =>
  (["key", "segmentKey"] as const)
    .filter((name) => change[name] !== undefined && change[name] !== segment.key)
    .map((name) => ({ path: [name], problem: "Expected the segment's key, which can't be changed" }))

/** The environments in which a flag refers to one of these segments. */
export const environmentsUsing = (
  flag: Pick<StoredFlag, "environments">,
  segments: ReadonlySet<string>
): ReadonlyArray<FlagEnvironment> =>
  flagEnvironments.filter((environment) =>
    segmentsUsedBy(flag.environments[environment].targeting).some((key) => segments.has(key))
  )
