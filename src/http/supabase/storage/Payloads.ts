import { Schema } from "effect"
import { payloadOf } from "./Requests.ts"

/** The longest time for which a URL is signed, in seconds. */
const maxSeconds = 10 * 365 * 24 * 60 * 60

const Name = Schema.String.check(Schema.isMaxLength(1024))
/** Some clients send numbers as text. */
const whole = (minimum: number, maximum: number) => {
  const inRange = Schema.isBetween({ minimum, maximum })
  return Schema.Union([Schema.Int.check(inRange), Schema.FiniteFromString.check(Schema.isInt(), inRange)])
}
const Seconds = whole(1, maxSeconds)
export const signOf = payloadOf(Schema.Struct({ expiresIn: Seconds, transform: Schema.optionalKey(Schema.Unknown) }))
export const signManyOf = payloadOf(
  Schema.Struct({ expiresIn: Seconds, paths: Schema.Array(Name).check(Schema.isBetweenLength(1, 500)) })
)
export const listingOf = payloadOf(
  Schema.Struct({
    prefix: Name,
    limit: Schema.optionalKey(whole(1, 10_000)),
    offset: Schema.optionalKey(whole(0, 10_000_000)),
    search: Schema.optionalKey(Schema.NullOr(Name)),
    sortBy: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({
          column: Schema.optionalKey(Schema.Literals(["name", "created_at", "updated_at", "last_accessed_at"])),
          order: Schema.optionalKey(Schema.Literals(["asc", "desc"]))
        })
      )
    )
  })
)
export const listV2Of = payloadOf(
  Schema.Struct({
    prefix: Schema.optionalKey(Schema.NullOr(Name)),
    limit: Schema.optionalKey(whole(1, 1000)),
    cursor: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(4096)))),
    with_delimiter: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
    sortBy: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({
          column: Schema.optionalKey(Schema.Literals(["name", "created_at", "updated_at"])),
          order: Schema.optionalKey(Schema.Literals(["asc", "desc"]))
        })
      )
    )
  })
)
/** The content of a cursor, which is base64url of JSON. */
export const decodeCursor = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({ at: Schema.String.check(Schema.isPattern(/^(-infinity|[\d :.+-]{1,40})$/)), name: Name })
  )
)
export const moveOf = payloadOf(
  Schema.Struct({
    bucketId: Name,
    sourceKey: Name,
    destinationKey: Name,
    destinationBucket: Schema.optionalKey(Schema.NullOr(Name))
  })
)
export const removeOf = payloadOf(
  Schema.Struct({ prefixes: Schema.Array(Name).check(Schema.isBetweenLength(1, 1000)) })
)
