import { type KeyboardEvent, useState } from "react"
import { ChoiceList, comboboxAttributes } from "../../ui/finder/ChoiceList.tsx"
import { useCombobox } from "../../ui/finder/combobox.ts"
import type { Reference } from "./columns.ts"
import { canBeKey, useReferences } from "./references.ts"

interface ReferenceInputProps {
  readonly common: Readonly<Record<string, unknown>>
  readonly foreign: Reference
  readonly id: string
  readonly text: string
  readonly onText: (text: string) => void
}

/** A key, found by the label of its row as in the grid. The list is there while the field has the focus. */
export const ReferenceInput = ({ common, foreign, id, onText, text }: ReferenceInputProps) => {
  const [open, setOpen] = useState(false)
  const words = open ? text.trim() : ""
  const finder = useCombobox(useReferences(foreign, words), words, canBeKey(foreign))
  const list = { ...finder, choices: open ? finder.choices : [] }
  const take = () => {
    if (open && finder.key !== undefined) onText(finder.key)
    setOpen(false)
  }
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape" && list.choices.length > 0) {
      event.stopPropagation()
      setOpen(false)
    } else if (event.key === "Enter" && open) {
      // What is written must be seen before it is saved.
      if (finder.key !== undefined && finder.key !== text) event.preventDefault()
      take()
    } else if (open) finder.onKey(event)
    else if (event.key === "ArrowDown") setOpen(true)
  }
  return (
    <>
      <input
        {...common}
        {...comboboxAttributes(`${id}-list`, list)}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          setOpen(true)
          onText(event.target.value)
        }}
        onKeyDown={keys}
        onBlur={take}
      />
      <ChoiceList
        id={`${id}-list`}
        label={`Rows of ${foreign.references.table}`}
        choices={list.choices}
        at={list.at}
        onChoose={(key) => {
          onText(key)
          setOpen(false)
        }}
      />
    </>
  )
}
