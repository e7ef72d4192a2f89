import { Schema, SchemaTransformation } from "effect"

/**
 * The payload that changes a record: its other fields may be sent along, as in the record that was read, and are ignored.
 * Fields of neither are refused.
 */
export const asRecordChange = <C extends Schema.Struct.Fields>(
  change: Schema.Struct<C>,
  record: { readonly fields: Schema.Struct.Fields }
) => {
  const changeable = Object.keys(change.fields)
  const others = Object.keys(record.fields).filter((name) => !changeable.includes(name))
  const sent = Schema.Struct({
    ...Object.fromEntries(others.map((name) => [name, Schema.optionalKey(Schema.Unknown)])),
    ...change.fields
  }) as object as Schema.Struct<C>
  const own = (fields: object) =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => changeable.includes(name))) as Schema.Struct<C>["Type"]
  return sent.pipe(Schema.decodeTo(Schema.toType(change), SchemaTransformation.transform({ decode: own, encode: own })))
}
