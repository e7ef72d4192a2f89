import { type KeyboardEvent, useState } from "react"

export interface Choice {
  readonly key: string
  readonly label: string | undefined
}

/** Choices, with the words that they were looked up by: another text has not been looked up yet. */
export interface Found {
  readonly words: string
  readonly choices: ReadonlyArray<Choice>
}

export const nothingFound: Found = { words: "", choices: [] }

/**
 * The choice that counts, by its place; undefined: the text as it was typed. A list counts only if it belongs to the text.
 * What was moved to comes first, then the key that equals the text. A label is taken only if the text equals it, can't be a
 * key, and names one choice.
 */
export const choiceOf = (
  { choices, words }: Found,
  typed: string,
  moved: number | undefined,
  isKey: (text: string) => boolean
): number | undefined => {
  if (words !== typed) return undefined
  if (moved !== undefined) return moved < choices.length ? moved : undefined
  if (typed === "") return undefined
  const key = choices.findIndex((one) => one.key === typed)
  if (key >= 0) return key
  if (isKey(typed)) return undefined
  const same = choices.flatMap(({ label }, at) => (label?.toLowerCase() === typed.toLowerCase() ? [at] : []))
  return same.length === 1 ? same[0] : undefined
}

/** What every finder has in common: the keys of its list, and which of its choices counts. */
export const useCombobox = (found: Found, typed: string, isKey: (text: string) => boolean) => {
  const [moved, setMoved] = useState<{ readonly at: number; readonly words: string }>()
  const choices = found.words === typed ? found.choices : []
  const at = choiceOf(found, typed, moved?.words === typed ? moved.at : undefined, isKey)
  return {
    choices,
    at,
    /** The key that counts; undefined: the text. */
    key: at === undefined ? undefined : choices[at]?.key,
    /** Whether the key was one of the list's. */
    onKey: (event: KeyboardEvent): boolean => {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
      if (step === 0 || choices.length === 0) return false
      event.preventDefault()
      const from = at ?? (step === 1 ? -1 : 0)
      setMoved({ at: (from + step + choices.length) % choices.length, words: typed })
      return true
    }
  }
}
