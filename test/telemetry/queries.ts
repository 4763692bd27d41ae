/**
 * What a query of Prometheus asks for, by the grammar of Prometheus.
 *
 * @module
 */
import { parser } from '@prometheus-io/lezer-promql';

export interface Asked {
  /** By metric: the labels that are matched, each with the values it may have (of `=` and `=~`). */
  readonly selectors: readonly {
    readonly metric: string;
    readonly matchers: readonly { readonly label: string; readonly values: readonly string[] }[];
  }[];
  /** Of `by`, `on`, `ignoring`. */
  readonly groupedBy: readonly string[];
  /** Where it is no PromQL. */
  readonly errors: readonly string[];
}

/** Grafana puts these in before it asks. */
const VARIABLES: Readonly<Record<string, string>> = { $__rate_interval: '5m', $__range: '1h', $operation: '.*' };

export function askedBy(query: string): Asked {
  const text = Object.entries(VARIABLES).reduce((all, [name, value]) => all.replaceAll(name, value), query);
  const selectors: { metric: string; matchers: { label: string; values: string[] }[] }[] = [];
  const groupedBy: string[] = [];
  const errors: string[] = [];
  parser.parse(text).iterate({
    enter({ type, from, to, node }) {
      const at = text.slice(from, to);
      if (type.isError) errors.push(`${at || 'the end'} at ${from} of ${text}`);
      if (type.name === 'GroupingLabels') for (const label of node.getChildren('LabelName')) groupedBy.push(text.slice(label.from, label.to));
      if (type.name !== 'VectorSelector') return;
      const identifier = node.getChild('Identifier');
      const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
      selectors.push({
        metric: identifier === null ? '' : text.slice(identifier.from, identifier.to),
        matchers: matchers.map((matcher) => {
          const [label = '', values = ''] = ['LabelName', 'StringLiteral'].map((name) => {
            const child = matcher.getChild(name);
            return child === null ? '' : text.slice(child.from, child.to);
          });
          return { label, values: (JSON.parse(values) as string).split('|') };
        }),
      });
    },
  });
  return { selectors, groupedBy, errors };
}
