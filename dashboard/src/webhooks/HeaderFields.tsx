import { Button } from "../ui/Button.tsx"

export interface Header {
  readonly id: number
  readonly name: string
  readonly value: string
}

let made = 0
export const headersOf = (record: Readonly<Record<string, string>>): ReadonlyArray<Header> =>
  Object.entries(record).map(([name, value]) => ({ id: ++made, name, value }))

/** Names that are left empty are no headers. */
export const recordOf = (headers: ReadonlyArray<Header>): Record<string, string> =>
  Object.fromEntries(headers.filter(({ name }) => name.trim() !== "").map(({ name, value }) => [name.trim(), value]))

interface HeaderFieldsProps {
  readonly headers: ReadonlyArray<Header>
  readonly onChange: (headers: ReadonlyArray<Header>) => void
}

export const HeaderFields = ({ headers, onChange }: HeaderFieldsProps) => {
  const change = (id: number, part: Partial<Header>) =>
    onChange(headers.map((one) => (one.id === id ? { ...one, ...part } : one)))
  return (
    <fieldset className="headers">
      <legend>Headers of every delivery</legend>
      {headers.map(({ id, name, value }, at) => (
        <div key={id}>
          <input
            className="field mono"
            aria-label={`Name of header ${at + 1}`}
            placeholder="authorization"
            spellCheck={false}
            autoComplete="off"
            value={name}
            onChange={(event) => change(id, { name: event.target.value })}
          />
          <input
            className="field mono"
            aria-label={`Value of header ${at + 1}`}
            placeholder="Bearer …"
            spellCheck={false}
            autoComplete="off"
            value={value}
            onChange={(event) => change(id, { value: event.target.value })}
          />
          <Button
            kind="quiet"
            icon="x"
            label={`Remove header ${at + 1}`}
            onClick={() => onChange(headers.filter((one) => one.id !== id))}
          />
        </div>
      ))}
      <span>
        <Button icon="plus" onClick={() => onChange([...headers, { id: ++made, name: "", value: "" }])}>
          Add header
        </Button>
      </span>
    </fieldset>
  )
}
