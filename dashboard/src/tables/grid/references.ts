import { useEffect, useState } from "react"
import { type Choice, type Found, nothingFound } from "../../ui/finder/combobox.ts"
import { request } from "../../wire/request.ts"
import { problemOf } from "./checks.ts"
import type { Reference } from "./columns.ts"
import type { Row } from "../rows/identity.ts"
import { nameText, quoted } from "../rows/keyset.ts"

const most = 8

const keyOf = ({ references }: Reference) => references.columns[0] ?? ""

/** Whether a text can be a key of the other table. */
export const canBeKey = (reference: Reference | undefined) => {
  const type = reference?.table?.columns.find(({ name }) => name === keyOf(reference))?.type ?? "text"
  return (text: string) => problemOf(type, text) === undefined
}

const read = async (reference: Reference, filter: ReadonlyArray<readonly [string, string]>, signal: AbortSignal) => {
  const { label, references } = reference
  const key = keyOf(reference)
  const select = label === undefined ? nameText(key) : `${nameText(key)},${nameText(label)}`
  const query = new URLSearchParams([
    ["select", select],
    ["limit", String(most)],
    ["order", nameText(label ?? key)],
    ...filter.map(([name, value]) => [name, value])
  ])
  const headers = { "accept-profile": references.schema }
  const path = `/v1/db/${encodeURIComponent(references.table)}?${query}`
  const { body } = await request<ReadonlyArray<Row>>(path, { signal, headers })
  return body.map((row): Choice => ({
    key: String(row[key]),
    label: label === undefined || row[label] === null ? undefined : String(row[label])
  }))
}

/** The row with this key comes first, wherever its label would put it. */
const find = async (reference: Reference, words: string, signal: AbortSignal): Promise<ReadonlyArray<Choice>> => {
  if (words === "") return read(reference, [], signal)
  const { label } = reference
  // In a pattern these letters stand for others.
  const pattern = `*${words.replaceAll(/[\\%_]/g, "\\$&")}*`
  const [exact, named] = await Promise.all([
    canBeKey(reference)(words)
      ? read(reference, [["and", `(${nameText(keyOf(reference))}.eq.${quoted(words)})`]], signal)
      : [],
    label === undefined ? [] : read(reference, [["and", `(${nameText(label)}.ilike.${quoted(pattern)})`]], signal)
  ])
  const keys = new Set(exact.map(({ key }) => key))
  return [...exact, ...named.filter(({ key }) => !keys.has(key))].slice(0, most)
}

/** Rows that a reference may name, by what was typed, after a pause in typing. */
export const useReferences = (reference: Reference | undefined, words: string): Found => {
  const [found, setFound] = useState<Found>(nothingFound)
  useEffect(() => {
    if (reference?.table === undefined) return
    const controller = new AbortController()
    const timer = setTimeout(() => {
      find(reference, words, controller.signal).then(
        (choices) => setFound({ words, choices }),
        // The key can still be typed.
        () => setFound({ words, choices: [] })
      )
    }, 120)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [reference, words])
  return found
}
