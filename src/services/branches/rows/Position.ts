import { Effect, Schema } from "effect"
import { type TablePair } from "../../../domain/branches/rows/TablePair.ts"
import { InvalidRequest } from "../../../domain/errors.ts"
import { isStorable } from "../../../domain/text/StorableText.ts"

/** Where a comparison continues: behind a key; with the digests of each kind up to there, if it counts. */
export interface Position {
  readonly key: ReadonlyArray<string>
  readonly digests?: ReadonlyArray<string> | undefined
}

const Cursor = Schema.fromJsonString(
  Schema.Struct({
    of: Schema.Array(Schema.String),
    key: Schema.Array(Schema.String.check(isStorable)),
    digests: Schema.optionalKey(Schema.Array(Schema.String).check(Schema.isMinLength(3), Schema.isMaxLength(3)))
  })
)
const decode = Schema.decodeUnknownEffect(Cursor)

const ofPair = ({ key, main }: TablePair) => [main.schema, main.table, key.name]

export const writePosition = (pair: TablePair, { digests, key }: Position) =>
  Buffer.from(JSON.stringify({ of: ofPair(pair), key, ...(digests && { digests }) })).toString("base64url")

/** 400 `COMPARE_CURSOR` for what is not a cursor of this table and key. */
export const readPosition = Effect.fnUntraced(function* (pair: TablePair, cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const invalid = new InvalidRequest({
    error: "The cursor is invalid: it is not that of a comparison of this table and key",
    code: "COMPARE_CURSOR",
    hint: "Begin again without a cursor"
  })
  const { digests, key, of } = yield* Effect.mapError(
    decode(Buffer.from(cursor, "base64url").toString("utf8")),
    () => invalid
  )
  const isOfPair = JSON.stringify(of) === JSON.stringify(ofPair(pair)) && key.length === pair.keyColumns.length
  return isOfPair ? ({ key, digests } satisfies Position) : yield* invalid
})
