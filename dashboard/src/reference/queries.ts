import { useQuery } from "@tanstack/react-query"
import { request } from "../wire/request.ts"
import { exampleOf, type Row } from "./values.ts"

/** A row, so that the requests that are shown find one. Numbers that JavaScript would change are text. */
export const useRow = (name: string, profile: string | undefined, enabled: boolean) =>
  useQuery({
    enabled,
    queryKey: ["reference", "row", profile, name],
    queryFn: async ({ signal }) => {
      const headers = profile === undefined ? {} : { "accept-profile": profile }
      const path = `/v1/db/${encodeURIComponent(name)}?limit=1`
      const { body } = await request<ReadonlyArray<Row>>(path, { headers, signal })
      return body[0] ?? null
    },
    // A foreign server that is down, or a view that fails: the requests then have examples.
    retry: false
  })

interface JsonSchema {
  readonly type?: string | ReadonlyArray<string>
  readonly format?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly required?: ReadonlyArray<string>
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

/** Types of PostgreSQL for the formats and types of JSON Schema, as far as an example needs them. */
const sqlTypeOf = ({ format, type }: JsonSchema) => {
  const one = typeof type === "string" ? type : type?.[0]
  if (one === "integer" || one === "number") return "integer"
  if (one === "boolean") return "boolean"
  if (one === "array") return "text[]"
  if (one === "object") return "jsonb"
  return format === "date-time" ? "timestamp" : (format ?? "text")
}

interface Described {
  readonly paths: Readonly<
    Record<
      string,
      | {
          readonly post?: {
            readonly requestBody?: {
              readonly content: Readonly<Record<string, { readonly schema: JsonSchema } | undefined>>
            }
          }
        }
      | undefined
    >
  >
}

/** Examples of a function's arguments by name; null if it takes no arguments by name, or can't be called. */
export const useArguments = (name: string, profile: string | undefined, enabled: boolean) =>
  useQuery({
    enabled,
    queryKey: ["reference", "arguments", profile, name],
    queryFn: async ({ signal }): Promise<Row | null> => {
      const headers = profile === undefined ? {} : { "accept-profile": profile }
      const { body } = await request<Described>("/v1/db/", { headers, signal })
      const content = body.paths[`/rpc/${encodeURIComponent(name)}`]?.post?.requestBody?.content
      const schema = content?.["application/json"]?.schema
      // Of several functions of the name, the first.
      const { properties, required = [] } = schema?.anyOf?.[0] ?? schema ?? {}
      if (properties === undefined) return null
      const shown = required.length > 0 ? required : Object.keys(properties)
      return Object.fromEntries(
        shown.map((argument) => {
          const one = properties[argument] ?? {}
          return [argument, one.enum?.[0] ?? exampleOf(sqlTypeOf(one), {})]
        })
      )
    }
  })
