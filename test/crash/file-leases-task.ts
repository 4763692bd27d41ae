/** What a stopped process found when it went on. Apart from the worker, which serves as soon as it is loaded. */
export interface Found {
  readonly held: string;
  readonly aborted: boolean;
  readonly written: string;
  readonly renewed: string;
  readonly released: string;
}
