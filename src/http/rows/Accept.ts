import { Result } from "effect"
import { NotAcceptable } from "../../domain/errors.ts"
import { type AnswerForm } from "../../domain/rows/Preferences.ts"

/** A form of the response, and its Content-Type. */
export interface Accepted {
  readonly form: AnswerForm
  readonly contentType: string
}

const charset = "; charset=utf-8"

type Media = Pick<AnswerForm, "media" | "stripNulls">

const acceptedAs = (media: Media["media"], stripNulls: boolean, type: string): Accepted => ({
  form: { media, stripNulls, options: [], of: "json" },
  contentType: `${type}${charset}`
})

export const asJson = acceptedAs("json", false, "application/json")
const asCsv = acceptedAs("csv", false, "text/csv")
const object = "application/vnd.pgrst.object+json"
const asObject = acceptedAs("object", false, object)
const asObjectStripped = acceptedAs("object", true, `${object};nulls=stripped`)
const asArrayStripped = acceptedAs("json", true, "application/vnd.pgrst.array+json;nulls=stripped")

/** A media range without its weight and spaces; names are in lower case. */
interface Range {
  readonly text: string
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
  readonly weight: number
  /** More specific ranges take precedence. */
  readonly specificity: number
}

const parameter = /;\s*([\w-]+)\s*=\s*("[^"]*"|[\w|.-]+)\s*/g
const beforeParameters = /^[^;]*/
const weightAt = /;\s*q\s*=\s*([\d.]*)/i

/** Splits at commas outside quotes. */
const elements = (header: string) => header.match(/(?:[^,"]|"[^"]*"?)+/g) ?? []

const rangeOf = (element: string): Range => {
  const weight = weightAt.exec(element)
  // Parameters after the weight do not belong to the type.
  const text = (weight === null ? element : element.slice(0, weight.index)).replaceAll(/\s/g, "")
  const parameters = new Map<string, string>()
  for (const [, name = "", value = ""] of text.matchAll(parameter)) {
    parameters.set(name.toLowerCase(), value.startsWith('"') ? value.slice(1, -1) : value)
  }
  const type = (beforeParameters.exec(text)?.[0] ?? "").toLowerCase()
  const given = weight === null ? 1 : Number(weight[1])
  return {
    text,
    type,
    parameters,
    weight: Number.isNaN(given) ? 1 : given,
    specificity: text.split(";").length - text.split("*").length
  }
}

const planOptions = ["analyze", "verbose", "settings", "buffers", "wal"] as const
const planMedia: Readonly<Record<string, "plan-json" | "plan-text">> = {
  "application/vnd.pgrst.plan": "plan-text",
  "application/vnd.pgrst.plan+text": "plan-text",
  "application/vnd.pgrst.plan+json": "plan-json"
}

const planOf = (media: "plan-json" | "plan-text", { parameters }: Range) => {
  const of = formOf(rangeOf(parameters.get("for") ?? "application/json"), false)
  if (of === undefined) return undefined
  const asked = (parameters.get("options") ?? "").split("|")
  const options = planOptions.filter((option) => asked.includes(option))
  const kind = of.contentType.replace(charset, "")
  const type = `application/vnd.pgrst.plan+${media === "plan-json" ? "json" : "text"}; for="${kind}"`
  const { stripNulls, media: wanted } = of.form
  return {
    form: { media, stripNulls, options, of: wanted === "object" || wanted === "csv" ? wanted : "json" },
    contentType: `${type}${options.length === 0 ? "" : `; options=${options.join("|")}`}${charset}`
  } as const satisfies Accepted
}

/** The form that a media range stands for; undefined if not supported. */
const formOf = (range: Range, plans: boolean): Accepted | undefined => {
  const stripped = range.parameters.get("nulls") === "stripped"
  switch (range.type) {
    case "*/*":
    case "application/json":
      return asJson
    case "text/csv":
      return asCsv
    case object:
    case "application/vnd.pgrst.object":
      return stripped ? asObjectStripped : asObject
    case "application/vnd.pgrst.array+json":
    case "application/vnd.pgrst.array":
      return stripped ? asArrayStripped : asJson
    default: {
      const media = plans ? planMedia[range.type] : undefined
      return media && planOf(media, range)
    }
  }
}

/** The best form that an `Accept` header (RFC 9110 12.5.1) allows, else 406 PGRST107. `plans`: include those of EXPLAIN. */
export const accepted = (header: string | undefined, plans: boolean): Result.Result<Accepted, NotAcceptable> => {
  if (header === undefined || header === "*/*" || header === "application/json" || header === "") {
    return Result.succeed(asJson)
  }
  const ranges = elements(header)
    .map(rangeOf)
    .filter(({ text }) => text !== "")
    .sort((a, b) => b.weight - a.weight || b.specificity - a.specificity)
  for (const range of ranges) {
    const form = range.weight > 0 ? formOf(range, plans) : undefined
    if (form !== undefined) return Result.succeed(form)
  }
  if (ranges.length === 0) return Result.succeed(asJson)
  const names = ranges.map(nameOf).join(", ").slice(0, 1000)
  return Result.fail(
    new NotAcceptable({ error: `None of these media types are available: ${names}`, code: "PGRST107" })
  )
}

/** Plans are named in full, other media types as sent. */
const nameOf = (range: Range) => formOf(range, true)?.contentType.replace(charset, "") ?? range.text
