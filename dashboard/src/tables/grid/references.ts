import { useEffect, useState } from "react"
import { request } from "../../wire/request.ts"
import type { Reference } from "./columns.ts"
import type { Row } from "../rows/identity.ts"
import { nameText } from "../rows/keyset.ts"

export interface Choice {
  readonly key: string
  readonly label: string | undefined
}

const urlOf = ({ label, references }: Reference, words: string) => {
  const key = references.columns[0] ?? ""
  const select = label === undefined ? nameText(key) : `${nameText(key)},${nameText(label)}`
  const query = new URLSearchParams({ select, limit: "8", order: nameText(label ?? key) })
  if (words !== "") {
    const pattern = `"*${words.replaceAll(/["\\]/g, "\\$&")}*"`
    const byLabel = label === undefined ? [] : [`${nameText(label)}.ilike.${pattern}`]
    const byKey = /^\d{1,18}$/.test(words) ? [`${nameText(key)}.eq.${words}`] : []
    const all = [...byKey, ...byLabel]
    if (all.length > 0) query.set("or", `(${all.join(",")})`)
  }
  return `/v1/db/${encodeURIComponent(references.table)}?${query}`
}

/** Rows that a reference may name, by what was typed, after a pause in typing. */
export const useReferences = (reference: Reference | undefined, words: string): ReadonlyArray<Choice> => {
  const [found, setFound] = useState<ReadonlyArray<Choice>>([])
  useEffect(() => {
    if (reference?.table === undefined) return
    const controller = new AbortController()
    const timer = setTimeout(() => {
      const headers = { "accept-profile": reference.references.schema }
      request<ReadonlyArray<Row>>(urlOf(reference, words), { signal: controller.signal, headers }).then(
        ({ body }) =>
          setFound(
            body.map((row) => ({
              key: String(row[reference.references.columns[0] ?? ""]),
              label: reference.label === undefined ? undefined : String(row[reference.label])
            }))
          ),
        // The key can still be typed.
        () => setFound([])
      )
    }, 120)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [reference, words])
  return found
}
