import { XMLParser, XMLValidator } from "fast-xml-parser"
import { s3Error } from "./Error.ts"

/** The content of an element: text, elements or nothing. Undefined children are omitted. */
type XmlValue = string | number | boolean | XmlElements
export interface XmlElements {
  readonly [name: string]: XmlValue | ReadonlyArray<XmlValue> | undefined
}

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

/** An XML document of S3; `name` is its root element. */
export const xmlDocument = (name: string, elements: XmlElements) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="${namespace}">${inner(elements)}</${name}>`

/** Errors have no namespace. */
export const xmlError = (elements: XmlElements) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${inner(elements)}</Error>`

const inner = (value: XmlValue): string => {
  if (typeof value !== "object") return escapeXml(String(value))
  let text = ""
  for (const name in value) {
    const child = value[name]
    if (child === undefined) continue
    if (Array.isArray(child)) for (const each of child) text += `<${name}>${inner(each)}</${name}>`
    else text += `<${name}>${inner(child as XmlValue)}</${name}>`
  }
  return text
}

// eslint-disable-next-line no-control-regex -- the pattern matches control characters
const special = /[&<>"\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]/g
const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

/**
 * Control characters become character references, as in S3, although XML 1.0 does not allow most of them: clients with
 * such keys use encoding-type=url.
 */
const escapeXml = (text: string) =>
  text.replaceAll(special, (found) => names[found] ?? `&#x${found.charCodeAt(0).toString(16)};`)

/** A parsed element: its text, or its child elements by name. */
export type XmlNode = string | { readonly [name: string]: ReadonlyArray<XmlNode> }

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

const entity = (name: string): string => {
  const number = /^#(?:x([0-9a-f]+)|(\d+))$/i.exec(name)
  const code = number === null ? Number.NaN : Number.parseInt(number[1] ?? number[2] ?? "", number[1] ? 16 : 10)
  const text = number === null ? entities[name] : code <= 0x10ffff ? String.fromCodePoint(code) : undefined
  if (text === undefined || !text.isWellFormed()) throw s3Error("MalformedXML")
  return text
}

const parser = new XMLParser({
  ignoreAttributes: true,
  removeNSPrefix: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  trimValues: false,
  // Documents with a document type, which could declare other entities, are rejected.
  entityDecoder: {
    decode: (text) => text.replaceAll(/&([^;&]{0,10});?/g, (_, name: string) => entity(name)),
    setExternalEntities: () => undefined,
    addInputEntities: () => undefined,
    reset: () => undefined,
    setXmlVersion: () => undefined
  },
  isArray: () => true,
  maxNestedTags: 32
})

/** The content of the root element, which must be `root`. Throws MalformedXML, also for a document type declaration. */
export const parseXml = (text: string, root: string): XmlNode => {
  const found = parsed(text.replace(/^\uFEFF/, ""))?.[root]
  if (found?.length !== 1) throw s3Error("MalformedXML")
  return found[0] ?? ""
}

const parsed = (text: string): Exclude<XmlNode, string> | undefined => {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return undefined
  try {
    if (XMLValidator.validate(text) !== true) return undefined
    const document: unknown = parser.parse(text)
    return typeof document === "object" && document !== null ? (document as Exclude<XmlNode, string>) : undefined
  } catch {
    return undefined
  }
}

/** The elements of this name within another. */
export const children = (node: XmlNode, name: string): ReadonlyArray<XmlNode> =>
  typeof node === "string" ? [] : (node[name] ?? [])

/** The text of the only element of this name; undefined if there is none. Throws MalformedXML if there are several. */
export const childText = (node: XmlNode, name: string): string | undefined => {
  const found = children(node, name)
  if (found.length > 1) throw s3Error("MalformedXML")
  return found[0] === undefined ? undefined : textOf(found[0])
}

export const textOf = (node: XmlNode): string => {
  if (typeof node === "string") return node
  if (Object.keys(node).some((name) => name !== "#text")) throw s3Error("MalformedXML")
  const text: unknown = node["#text"]
  return typeof text === "string" ? text : ""
}
