import { Choose, Field } from "../ui/Field.tsx"

/** What a branch is made with, as it is typed. */
export interface BranchDraft {
  readonly label: string
  /** Hours; `keep`: as it is. */
  readonly ttl: string
  readonly access: "service_role" | "clients"
}

const lives: ReadonlyArray<readonly [string, string]> = [
  ["1", "in an hour"],
  ["8", "in 8 hours"],
  ["24", "in a day"],
  ["168", "in a week"],
  ["720", "in 30 days"],
  ["0", "never"]
]

export const ttlOf = ({ ttl }: BranchDraft) => (ttl === "keep" ? {} : { ttlHours: Number(ttl) })

interface BranchFieldsProps {
  readonly draft: BranchDraft
  readonly onChange: (draft: BranchDraft) => void
  /** Of a branch that exists: when it expires as it is. */
  readonly expires?: string | undefined
  readonly problem?: string | undefined
}

/** Of new branches, restored ones, and changed ones. */
export const BranchFields = ({ draft, expires, onChange, problem }: BranchFieldsProps) => (
  <>
    <Field
      label="Label"
      value={draft.label}
      maxLength={60}
      placeholder="try the new schema"
      problem={problem}
      onText={(label) => onChange({ ...draft, label })}
    />
    <Choose
      label="Expires"
      value={draft.ttl}
      options={expires === undefined ? lives : [["keep", `as it is: ${expires}`], ...lives]}
      hint="An expired branch is dropped with everything in it."
      onValue={(ttl) => onChange({ ...draft, ttl })}
    />
    <fieldset className="choices">
      <legend>Who may use it</legend>
      {(
        [
          ["service_role", "Service keys only", "its policies may be older, or an experiment"],
          ["clients", "Also anon keys and JWTs", "its policies protect its rows"]
        ] as const
      ).map(([value, name, words]) => (
        <label key={value}>
          <input
            type="radio"
            name="access"
            checked={draft.access === value}
            onChange={() => onChange({ ...draft, access: value })}
          />
          <b>{name}</b> <span>{words}</span>
        </label>
      ))}
    </fieldset>
  </>
)
