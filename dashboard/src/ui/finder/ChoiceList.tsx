import type { Choice } from "./combobox.ts"

interface ChoiceListProps {
  readonly id: string
  readonly label: string
  readonly choices: ReadonlyArray<Choice>
  readonly at: number | undefined
  readonly onChoose: (key: string) => void
}

/** Of an input with a list. */
export const comboboxAttributes = (id: string, { at, choices }: Pick<ChoiceListProps, "at" | "choices">) => ({
  role: "combobox",
  "aria-autocomplete": "list" as const,
  "aria-expanded": choices.length > 0,
  "aria-controls": choices.length > 0 ? id : undefined,
  "aria-activedescendant": at === undefined || choices.length === 0 ? undefined : `${id}-${at}`
})

/** The list of a finder, below its input, which keeps the focus. */
export const ChoiceList = ({ at, choices, id, label, onChoose }: ChoiceListProps) =>
  choices.length === 0 ? null : (
    <ul id={id} className="choices" role="listbox" aria-label={label}>
      {choices.map(({ key, label: name }, index) => (
        <li
          key={key}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          onMouseDown={(event) => {
            event.preventDefault()
            onChoose(key)
          }}
        >
          <code>{key}</code> {name}
        </li>
      ))}
    </ul>
  )
