import { useLayoutEffect, useRef } from "react"
import { Button } from "../../ui/Button.tsx"

/** Names with values; the same name twice is a mistake of the form. */
export type PairList = ReadonlyArray<readonly [name: string, value: string]>

export const pairsOf = (all: Readonly<Record<string, string>>): PairList => Object.entries(all)

/** A name that stands twice, if there is one. */
export const twice = (pairs: PairList) =>
  pairs.map(([name]) => name.trim()).find((name, at, all) => name !== "" && all.indexOf(name) !== at)

/** Without those that have no name. */
export const recordOf = (pairs: PairList): Readonly<Record<string, string>> =>
  Object.fromEntries(pairs.flatMap(([name, value]) => (name.trim() === "" ? [] : [[name.trim(), value]])))

interface PairsProps {
  readonly label: string
  /** "metadata" or "tag". */
  readonly noun: string
  readonly pairs: PairList
  readonly most: number
  readonly onPairs: (pairs: PairList) => void
}

export const Pairs = ({ label, most, noun, onPairs, pairs }: PairsProps) => {
  const list = useRef<HTMLFieldSetElement>(null)
  const added = useRef(false)
  useLayoutEffect(() => {
    if (added.current) list.current?.querySelector<HTMLElement>(":scope > div:last-of-type input")?.focus()
    added.current = false
  }, [pairs.length])
  const add = () => {
    added.current = true
    onPairs([...pairs, ["", ""]])
  }
  return (
    <fieldset ref={list} className="storage-pairs">
      <legend>{label}</legend>
      {pairs.map(([name, value], at) => (
        <div key={at} className="storage-pair">
          <input
            className="field"
            aria-label={`Name of ${noun} ${at + 1}`}
            placeholder="name"
            value={name}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => onPairs(pairs.with(at, [event.target.value, value]))}
          />
          <input
            className="field"
            aria-label={`Value of ${noun} ${at + 1}`}
            placeholder="value"
            value={value}
            autoComplete="off"
            onChange={(event) => onPairs(pairs.with(at, [name, event.target.value]))}
          />
          <Button
            kind="quiet"
            icon="trash"
            label={`Remove ${noun} ${name === "" ? at + 1 : name}`}
            onClick={() => onPairs(pairs.filter((_, other) => other !== at))}
          />
        </div>
      ))}
      {pairs.length >= most ? null : (
        <Button kind="quiet" icon="plus" onClick={add}>
          Add {noun}
        </Button>
      )}
    </fieldset>
  )
}
