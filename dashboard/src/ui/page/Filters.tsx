import "./filters.css"
import { Button } from "../Button.tsx"

interface ChoiceProps {
  readonly label: string
  readonly any: string
  readonly value: string | undefined
  readonly choices: ReadonlyArray<readonly [value: string, name: string]>
  readonly onChoose: (value: string | undefined) => void
}

/** A filter with choices. A value that the address has, and the list does not, is a choice as well. */
export const Choice = ({ any, choices, label, onChoose, value }: ChoiceProps) => (
  <select
    className="field"
    aria-label={label}
    value={value ?? ""}
    onChange={({ target }) => onChoose(target.value === "" ? undefined : target.value)}
  >
    <option value="">{any}</option>
    {value === undefined || choices.some(([known]) => known === value) ? null : <option value={value}>{value}</option>}
    {choices.map(([known, name]) => (
      <option key={known} value={known}>
        {name}
      </option>
    ))}
  </select>
)

/** A filter that has no field of its own. */
export const Without = ({ name, onRemove }: { name: string; onRemove: () => void }) => (
  <Button icon="x" label={`Remove filter ${name}`} onClick={onRemove}>
    {name}
  </Button>
)
