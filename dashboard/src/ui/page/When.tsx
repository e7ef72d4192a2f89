import { ago, moment } from "../format.ts"

/** A moment as people say it; its title has it exactly. */
export const When = ({ at, none = "never" }: { at: string | null; none?: string }) =>
  at === null ? (
    <span className="faint">{none}</span>
  ) : (
    <time dateTime={at} title={moment(at)}>
      {ago(at)}
    </time>
  )
