import { Effect } from "effect"
import { type Actor, claimsSetting } from "../../ports/Db.ts"
import { makeCallerTransactions } from "../CallerTransactions.ts"
import { type Right, type Rights } from "./Rooms.ts"

const both: Right = { read: true, write: true }
const neither: Right = { read: false, write: false }
/** Public channels, and service keys in private ones. */
export const allRights: Rights = { broadcast: both, presence: both }
const nothing: Rights = { broadcast: neither, presence: neither }

export const noReason = "unknown event"

/** Reads the answer of realtime.svc_channel_rights: a letter for each right. */
const rightsOf = (letters: string): Rights => ({
  broadcast: { read: letters.includes("b"), write: letters.includes("B") },
  presence: { read: letters.includes("p"), write: letters.includes("P") }
})

/** The rights that the policies on realtime.messages give a caller in a private channel; none without an answer. */
export const makeAuthority = Effect.gen(function* () {
  const { sql, withTransaction } = yield* makeCallerTransactions
  return {
    rights: (actor: Actor, name: string): Effect.Effect<Rights, string> => {
      if (actor.role === "service_role") return Effect.succeed(allRights)
      return withTransaction(
        sql.unsafe<{ rights: string }>("select realtime.svc_channel_rights($1, $2, $3, $4) as rights", [
          actor.role,
          claimsSetting(actor),
          actor.sub,
          name
        ])
      ).pipe(
        Effect.map(([row]) => (row === undefined ? nothing : rightsOf(row.rights))),
        Effect.tapError((error) => Effect.logWarning("Failed to read the policies of a channel", error)),
        Effect.mapError(() => "DatabaseError: The policies of this channel can't be read, retry later")
      )
    }
  }
})
export type Authority = Effect.Success<typeof makeAuthority>
