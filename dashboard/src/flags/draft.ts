import { segmentsInlined } from "../../../src/domain/flags/SegmentsInlined.ts"
import { CompiledFlag } from "../../../src/domain/flags/sets/Set.ts"
import type { FlagDefinition, FlagResult } from "../../../src/domain/flags/Evaluation.ts"
import type { Segment } from "./queries.ts"

/** What a flag that is not saved yet would be for this context: the service's own evaluator, in the browser. */
export const evaluateDraft = (
  draft: FlagDefinition,
  context: Readonly<Record<string, unknown>>,
  environment: string,
  segments: ReadonlyArray<Segment>
): FlagResult => {
  const rules = segmentsInlined(new Map(segments.map(({ key, rules }) => [key, rules])))
  // The server refuses cycles; a draft can't be saved with one, and must not hang the page either.
  const targeting = rules.cycleFrom(draft.targeting) === undefined ? rules.inline(draft.targeting) : draft.targeting
  const metadata = { flagSetId: environment, version: "draft" }
  return new CompiledFlag({ ...draft, targeting }, "v2").evaluate(context, Date.now(), metadata)
}
