import { s3Error } from "./Error.ts"

/**
 * The content of an element: text, elements or nothing. Undefined children are omitted. The elements of the name "" have no
 * element of their own around them.
 */
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
    if (name === "") {
      for (const each of child as ReadonlyArray<XmlElements>) text += inner(each)
      continue
    }
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

/** A parsed element: its text, or its child elements by name. Attributes, and text next to elements, are omitted. */
export type XmlNode = string | { readonly [name: string]: ReadonlyArray<XmlNode> }

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

const entity = (name: string): string => {
  const number = /^#(?:x([0-9a-f]+)|(\d+))$/i.exec(name)
  const code = number === null ? Number.NaN : Number.parseInt(number[1] ?? number[2] ?? "", number[1] ? 16 : 10)
  const text = number === null ? entities[name] : code <= 0x10ffff ? String.fromCodePoint(code) : undefined
  if (text === undefined || !text.isWellFormed()) throw s3Error("MalformedXML")
  return text
}

const decodeText = (text: string) =>
  text.includes("&") ? text.replaceAll(/&([^;&]{0,10});?/g, (_, name: string) => entity(name)) : text

/** A comment or processing instruction, CDATA, a tag, or text. A document type, which could declare entities, does not match. */
const token =
  /<(?:\?[^]*?\?>|!--[^]*?-->|!\[CDATA\[(?<data>[^]*?)\]\]>|(?<end>\/?)(?<name>[^\s<>/!?"'=]+)(?:\s+[^\s<>/="']+\s*=\s*(?:"[^<"]*"|'[^<']*'))*\s*(?<empty>\/?)>)|(?<text>[^<]+)/y

const maximumDepth = 32

interface OpenElement {
  readonly name: string
  text: string
  children: Record<string, Array<XmlNode>> | undefined
}

/**
 * The content of the root element, which must be `root`. One pass over the text, so that a long document takes little of
 * the time of other requests. Throws MalformedXML, also for a document type declaration.
 */
export const parseXml = (text: string, root: string): XmlNode => {
  const document: OpenElement = { name: "", text: "", children: undefined }
  const open = [document]
  const top = () => open.at(-1) ?? document
  const close = (element: OpenElement) => {
    const parent = top()
    // The object has no prototype, because an element could have the name of one of its properties.
    parent.children ??= Object.create(null) as Record<string, Array<XmlNode>>
    const name = element.name.slice(element.name.indexOf(":") + 1)
    ;(parent.children[name] ??= []).push(element.children ?? element.text)
  }
  const source = text.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n")
  token.lastIndex = 0
  while (token.lastIndex < source.length) {
    const found = token.exec(source)?.groups
    if (found === undefined) throw s3Error("MalformedXML")
    const { data, empty, end, name } = found
    if (name === undefined) top().text += data ?? decodeText(found["text"] ?? "")
    else if (end === "/") {
      const element = open.pop()
      if (element?.name !== name || empty === "/") throw s3Error("MalformedXML")
      close(element)
    } else if (empty === "/") close({ name, text: "", children: undefined })
    else if (open.push({ name, text: "", children: undefined }) > maximumDepth) throw s3Error("MalformedXML")
  }
  const found = document.children?.[root]
  const roots = Object.keys(document.children ?? {}).length
  if (open.length > 1 || roots !== 1 || found?.length !== 1 || document.text.trim() !== "")
    throw s3Error("MalformedXML")
  return found[0] ?? ""
}

/** The elements of this name within another. */
export const children = (node: XmlNode, name: string): ReadonlyArray<XmlNode> =>
  typeof node === "string" ? [] : (node[name] ?? [])

/** The text of the only element of this name; undefined if there is none. Throws MalformedXML if there are several. */
export const childText = (node: XmlNode, name: string): string | undefined => {
  const found = children(node, name)
  if (found.length > 1) throw s3Error("MalformedXML")
  return found[0] === undefined ? undefined : xmlText(found[0])
}

export const xmlText = (node: XmlNode): string => {
  if (typeof node !== "string") throw s3Error("MalformedXML")
  return node
}
