import type { ReactNode } from "react"

export type Fact = readonly [name: string, value: ReactNode]

/** What is known of one thing: names and values. */
export const Facts = ({ facts }: { facts: ReadonlyArray<Fact> }) => (
  <dl className="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
