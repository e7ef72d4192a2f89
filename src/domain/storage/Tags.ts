import { Schema } from "effect"

/** The limits are S3's. */
const mostTags = 10
const allowed = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u
const words = "letters, digits, spaces and _ . : / = + - @"

const faultOf = (tags: Readonly<Record<string, string>>): string | undefined => {
  const all = Object.entries(tags)
  if (all.length > mostTags) return `Expected at most ${mostTags} tags`
  for (const [name, value] of all) {
    if (name.length < 1 || name.length > 128) return "Expected names of 1 to 128 characters"
    if (value.length > 256) return "Expected values of at most 256 characters"
    if (!allowed.test(name) || !allowed.test(value)) return `Expected only ${words}`
    if (/^aws:/i.test(name)) return "Expected a name that does not start with aws:, which S3 reserves"
  }
  return undefined
}

/** The tags of an object, by name. */
export const ObjectTags = Schema.Record(Schema.String, Schema.String).check(
  Schema.makeFilter((tags: Readonly<Record<string, string>>) => faultOf(tags) ?? true)
)
export type ObjectTags = typeof ObjectTags.Type
