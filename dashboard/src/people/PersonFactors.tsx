import { Button } from "../ui/Button.tsx"
import { plural } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { When } from "../ui/page/When.tsx"
import type { FactorKind, Person } from "./queries.ts"

type Factor = Person["factors"][number]

const kinds: Readonly<Record<Factor["type"], readonly [kind: FactorKind | undefined, words: string]>> = {
  password: [undefined, "Password"],
  passkey: ["passkeys", "Passkey"],
  webauthn: ["webauthn", "Security key"],
  provider: ["providers", "Linked account"],
  totp: ["totp", "Authenticator app"],
  recovery_codes: ["recovery_codes", "Recovery codes"]
}

/** What goes if factors of a kind are removed: the service removes all of it. */
export const factorWords: Readonly<Record<FactorKind, string>> = {
  totp: "the authenticator app",
  webauthn: "all security keys",
  passkeys: "all passkeys",
  recovery_codes: "all recovery codes",
  providers: "the links to all providers"
}

const columnsOf = (onRemove: (kind: FactorKind) => void): ReadonlyArray<ListColumn<Factor>> => [
  {
    name: "Factor",
    cell: ({ id, name, type, unused }) => (
      <span className="named">
        <b>{kinds[type][1]}</b>
        {type === "provider" ? <span className="badge">{id}</span> : null}
        {name === null ? null : <span>{name}</span>}
        {unused === null ? null : (
          <span className={`badge ${unused === 0 ? "warn" : ""}`}>{plural(unused, "code")} left</span>
        )}
      </span>
    )
  },
  { name: "Added", cell: ({ created_at }) => <When at={created_at} none="not known" /> },
  { name: "Last used", cell: ({ last_used_at }) => <When at={last_used_at} none="not known" /> },
  {
    name: "Actions",
    actions: true,
    cell: ({ type }) => {
      const [kind, words] = kinds[type]
      return kind === undefined ? null : (
        <Button kind="quiet" label={`Remove: ${words.toLowerCase()}`} onClick={() => onRemove(kind)}>
          Remove
        </Button>
      )
    }
  }
]

/** What a person can sign in with. */
export const PersonFactors = ({
  factors,
  onRemove
}: Pick<Person, "factors"> & { onRemove: (kind: FactorKind) => void }) => (
  <section className="part" aria-label="Factors">
    <header>
      <h3>Factors</h3>
    </header>
    {factors.length === 0 ? (
      <p className="soft">They have no password and no key yet: they sign in by a recovery link.</p>
    ) : (
      <List label="Factors" columns={columnsOf(onRemove)} rows={factors} keyOf={({ id, type }) => `${type} ${id}`} />
    )}
  </section>
)
