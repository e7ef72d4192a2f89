interface SegmentsProps<Value extends string> {
  readonly label: string
  /** Values with their words. */
  readonly options: ReadonlyArray<readonly [value: Value, words: string]>
  readonly value: Value
  readonly onValue: (value: Value) => void
}

/** One of a few that are all in view, for what changes the page at once. */
export const Segments = <Value extends string>({ label, onValue, options, value }: SegmentsProps<Value>) => (
  <div className="segments" role="group" aria-label={label}>
    {options.map(([one, words]) => (
      <button
        key={one}
        type="button"
        className="button quiet"
        aria-pressed={one === value}
        onClick={() => onValue(one)}
      >
        {words}
      </button>
    ))}
  </div>
)
