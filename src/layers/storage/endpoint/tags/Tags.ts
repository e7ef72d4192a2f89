import { s3Error } from "../Error.ts"
import { type Tag } from "../store/Model.ts"
import { children, childText, parseXml, type XmlElements } from "../Xml.ts"

/** S3's maximum number of tags. */
export const maximumTags = { object: 10, bucket: 50 } as const

/** Throws InvalidTag and BadRequest. */
const checkTags = (tags: ReadonlyArray<Tag>, owner: keyof typeof maximumTags): ReadonlyArray<Tag> => {
  if (tags.length > maximumTags[owner]) {
    const whose = owner === "object" ? "Object" : "Bucket"
    throw s3Error("BadRequest", `${whose} tags cannot be greater than ${maximumTags[owner]}`)
  }
  for (const [key, value] of tags) {
    if (!isText(key, 1, 128)) {
      throw s3Error("InvalidTag", "The TagKey you have provided is invalid", { TagKey: key.slice(0, 128) })
    }
    if (!isText(value, 0, 256)) {
      throw s3Error("InvalidTag", "The TagValue you have provided is invalid", { TagKey: key })
    }
    if (/^aws:/i.test(key)) throw s3Error("InvalidTag", "System tags cannot be added/updated by requester")
  }
  if (new Set(tags.map(([key]) => key)).size < tags.length) {
    throw s3Error("InvalidTag", "Cannot provide multiple Tags with the same key")
  }
  return tags
}

const isText = (text: string, minimum: number, maximum: number) =>
  text.length >= minimum && text.length <= maximum && /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(text)

/** The tags of an object in the header `x-amz-tagging`, which has the form of a query. Throws InvalidArgument, InvalidTag. */
export const parseTagHeader = (text: string | undefined): ReadonlyArray<Tag> => {
  if (text === undefined || text === "") return []
  // One more than allowed, so that a long text is not split into many pieces.
  const pairs = text.split("&", maximumTags.object + 1)
  const tags = pairs.map((pair): Tag => {
    const at = pair.indexOf("=")
    return at === -1 ? [decode(pair), ""] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))]
  })
  return checkTags(tags, "object")
}

const decode = (text: string) => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    throw s3Error("InvalidArgument", "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded", {
      ArgumentName: "x-amz-tagging"
    })
  }
}

/** The header for these tags. */
export const tagHeader = (tags: ReadonlyArray<Tag>) =>
  tags.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join("&")

/** The tags in a `Tagging` document. Throws MalformedXML, InvalidTag and BadRequest. */
export const parseTagging = (text: string, owner: keyof typeof maximumTags): ReadonlyArray<Tag> => {
  const [set, ...others] = children(parseXml(text, "Tagging"), "TagSet")
  if (set === undefined || others.length > 0) throw s3Error("MalformedXML")
  const tags = children(set, "Tag").map((node): Tag => {
    const [key, value] = [childText(node, "Key"), childText(node, "Value")]
    if (key === undefined || value === undefined) throw s3Error("MalformedXML")
    return [key, value]
  })
  return checkTags(tags, owner)
}

export const taggingXml = (tags: ReadonlyArray<Tag>): XmlElements => ({
  TagSet: { Tag: tags.map(([Key, Value]) => ({ Key, Value })) }
})
