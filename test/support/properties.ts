import { Effect } from "effect"
import * as fc from "fast-check"

/**
 * What multiplies the time and the repetitions of random checks and of attacks under load: `npm run test:long` takes 4. A
 * whole number.
 */
export const effort = Number(process.env["SVC_TEST_EFFORT"] ?? 1)

/**
 * Checks a property for generated values, for `millis` ms and at least `runs` times. A failing value is shrunk, and
 * reported with the seed that reproduces it (`{ seed, path }`).
 */
export const holds = <A, R>(
  arbitrary: fc.Arbitrary<A>,
  check: (value: A) => Effect.Effect<unknown, unknown, R>,
  { millis = 500 * effort, runs = 50, seed }: { millis?: number; runs?: number; seed?: number } = {}
) =>
  Effect.gen(function* () {
    const run = Effect.runPromiseWith(yield* Effect.context<R>())
    const until = Date.now() + millis
    let count = 0
    yield* Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(arbitrary, async (value) => {
          count += 1
          if (count > runs && Date.now() > until) return
          await run(check(value))
        }),
        { numRuns: millis === 0 ? runs : runs * 40, ...(seed === undefined ? {} : { seed }) }
      )
    )
  })

/** A text as an SQL literal. */
export const sqlText = (text: string) => `'${text.replaceAll("'", "''")}'`
