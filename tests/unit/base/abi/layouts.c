/* Prints where a real linux/perf_event.h puts things, one "name value" a line:
 *     cc -o layouts layouts.c && ./layouts > layouts.txt
 * layouts.txt was printed with the header of Linux 7.2 (Debian's linux-libc-dev) on x86-64.
 */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OFFSET(type, member) printf("%s.%s %zu\n", #type, #member, offsetof(struct type, member))
#define SIZE(type) printf("sizeof.%s %zu\n", #type, sizeof(struct type))
#define VALUE(name) printf("%s %llu\n", #name, (unsigned long long)(name))

static void bit(const char *owner, const char *name, const void *words, size_t size) {
    for (size_t i = 0; i < size * 8; i++)
        if (((const unsigned char *)words)[i / 8] >> (i % 8) & 1) {
            printf("%s.%s bit %zu\n", owner, name, i);
            return;
        }
}

#define ATTR_BIT(member) do { struct perf_event_attr a; memset(&a, 0, sizeof a); a.member = 1; \
        bit("perf_event_attr", #member, (char *)&a + offsetof(struct perf_event_attr, read_format) + 8, 8); } while (0)
#define BRANCH_BIT(member) do { struct perf_branch_entry b; memset(&b, 0, sizeof b); b.member = 1; \
        bit("perf_branch_entry", #member, (char *)&b + 16, 8); } while (0)

int main(void) {
    SIZE(perf_event_header); OFFSET(perf_event_header, type); OFFSET(perf_event_header, misc); OFFSET(perf_event_header, size);
    SIZE(perf_event_attr);
    OFFSET(perf_event_attr, type); OFFSET(perf_event_attr, size); OFFSET(perf_event_attr, config);
    OFFSET(perf_event_attr, sample_period); OFFSET(perf_event_attr, sample_type); OFFSET(perf_event_attr, read_format);
    OFFSET(perf_event_attr, wakeup_events); OFFSET(perf_event_attr, bp_type); OFFSET(perf_event_attr, config1);
    OFFSET(perf_event_attr, config2); OFFSET(perf_event_attr, branch_sample_type); OFFSET(perf_event_attr, sample_regs_user);
    OFFSET(perf_event_attr, sample_stack_user); OFFSET(perf_event_attr, clockid); OFFSET(perf_event_attr, sample_regs_intr);
    OFFSET(perf_event_attr, aux_watermark); OFFSET(perf_event_attr, sample_max_stack); OFFSET(perf_event_attr, aux_sample_size);
    OFFSET(perf_event_attr, aux_action); OFFSET(perf_event_attr, sig_data); OFFSET(perf_event_attr, config3);
    OFFSET(perf_event_attr, config4);
    ATTR_BIT(disabled); ATTR_BIT(inherit); ATTR_BIT(pinned); ATTR_BIT(exclusive); ATTR_BIT(exclude_user);
    ATTR_BIT(exclude_kernel); ATTR_BIT(exclude_hv); ATTR_BIT(exclude_idle); ATTR_BIT(mmap); ATTR_BIT(comm); ATTR_BIT(freq);
    ATTR_BIT(inherit_stat); ATTR_BIT(enable_on_exec); ATTR_BIT(task); ATTR_BIT(watermark); ATTR_BIT(precise_ip);
    ATTR_BIT(mmap_data); ATTR_BIT(sample_id_all); ATTR_BIT(exclude_host); ATTR_BIT(exclude_guest);
    ATTR_BIT(exclude_callchain_kernel); ATTR_BIT(exclude_callchain_user); ATTR_BIT(mmap2); ATTR_BIT(comm_exec);
    ATTR_BIT(use_clockid); ATTR_BIT(context_switch); ATTR_BIT(write_backward); ATTR_BIT(namespaces); ATTR_BIT(ksymbol);
    ATTR_BIT(bpf_event); ATTR_BIT(aux_output); ATTR_BIT(cgroup); ATTR_BIT(text_poke); ATTR_BIT(build_id);
    ATTR_BIT(inherit_thread); ATTR_BIT(remove_on_exec); ATTR_BIT(sigtrap); ATTR_BIT(defer_callchain); ATTR_BIT(defer_output);
    SIZE(perf_branch_entry); OFFSET(perf_branch_entry, from); OFFSET(perf_branch_entry, to);
    BRANCH_BIT(mispred); BRANCH_BIT(predicted); BRANCH_BIT(in_tx); BRANCH_BIT(abort); BRANCH_BIT(cycles); BRANCH_BIT(type);
    BRANCH_BIT(spec); BRANCH_BIT(new_type); BRANCH_BIT(priv);
    SIZE(perf_ns_link_info); OFFSET(perf_ns_link_info, dev); OFFSET(perf_ns_link_info, ino);
    printf("sizeof.perf_sample_weight %zu\n", sizeof(union perf_sample_weight));
    printf("sizeof.perf_mem_data_src %zu\n", sizeof(union perf_mem_data_src));
    VALUE(PERF_RECORD_MMAP); VALUE(PERF_RECORD_SAMPLE); VALUE(PERF_RECORD_MMAP2); VALUE(PERF_RECORD_AUX_OUTPUT_HW_ID);
    VALUE(PERF_RECORD_CALLCHAIN_DEFERRED); VALUE(PERF_CONTEXT_KERNEL); VALUE(PERF_CONTEXT_USER);
    VALUE(PERF_CONTEXT_USER_DEFERRED); VALUE(PERF_CONTEXT_MAX); VALUE(PERF_SAMPLE_WEIGHT_STRUCT);
    return 0;
}
