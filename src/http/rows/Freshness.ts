import { Result } from "effect"
import { InvalidRequest } from "../../domain/errors.ts"
import { type Preferences } from "../../domain/rows/Preferences.ts"
import { parseLsn } from "../../domain/sql/Lsn.ts"
import { type Freshness } from "../../services/ports/Db.ts"

/**
 * In a response: a position of the write-ahead log after the write. In a request: the position that its read must
 * include.
 */
export const lsnHeader = "x-svc-lsn"

const session: Result.Result<Freshness> = Result.succeed({ after: 0, session: true })
const eventual: Result.Result<Freshness> = Result.succeed({ after: 0, session: false })
const strong = Result.succeed(undefined)

/** How recent a read has to be. `strong`: it runs on the primary, and the header has no further effect. */
export const freshnessOf = (
  { consistency = "session" }: Preferences,
  lsn: string | undefined
): Result.Result<Freshness | undefined, InvalidRequest> => {
  if (consistency === "strong") return strong
  if (lsn === undefined) return consistency === "session" ? session : eventual
  const after = parseLsn(lsn.trim())
  return after === undefined
    ? Result.fail(
        new InvalidRequest({
          error:
            "X-Svc-Lsn must be a position of the write-ahead log, as a response to a write has it, such as 16/B374D848"
        })
      )
    : Result.succeed({ after, session: consistency === "session" })
}
