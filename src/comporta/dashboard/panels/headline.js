// The figures that are looked at first.
export default {
  props: { view: Object },
  template: `
    <section class="c-headline" aria-label="Now">
      <dl v-for="tile in view?.tiles ?? []" :key="tile.key" class="c-tile" :data-tile="tile.key" :data-tone="tile.tone">
        <dt>{{ tile.label }}</dt>
        <dd class="c-figure" :title="tile.exact || null">{{ tile.value }}<small v-if="tile.unit">{{ tile.unit }}</small></dd>
        <dd class="c-note">{{ tile.note }}</dd>
      </dl>
    </section>`,
};
