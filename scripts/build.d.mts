/** Packages that are not bundled, because they have files of their own. */
export declare const separate: ReadonlyArray<string>
