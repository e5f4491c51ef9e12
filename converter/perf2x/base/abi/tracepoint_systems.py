"""Names of Linux's own tracepoint systems: ``sched`` in ``sched:sched_switch``.

Source of truth: TRACE_SYSTEM in include/trace/events, arch/*, drivers, fs, net and sound of Linux 6.18; names that only
earlier versions had are kept. ``probe``, ``user_events`` and ``synthetic`` are missing because users define the events
in them.
"""

KERNEL_SYSTEMS = """
9p afs alarmtimer amd_cpu amdgpu amdgpu_dm amdxdna android_fs asoc ath10k ath11k ath12k ath5k ath6kl avc bcache bkl
block bpf_test_run bpf_trace bridge btrfs cachefiles capability cfg80211 cgroup cifs clk cma compaction context_tracking
coredump cpuhp cros_ec csd cxl damon dev devfreq devlink dlm dma dma_buf dma_fence dpaa_eth drm dwc3 erofs error_report
exceptions ext3 ext4 f2fs fib fib6 filelock filemap firewire firewire_ohci fs_dax fscache fsi fsverity ftrace fuse gfs2
gpio gpu_mem gpu_scheduler habanalabs handshake hda hda_controller hda_intel host1x huge_memory hugetlbfs hwmon hyperv
i2c i2c_slave i40e i915 iavf ib_mad ib_umad ice icmp initcall intel-sst intel_ifs intel_iommu intel_ish io_uring iocost
iomap iommu ipi irq irq_matrix irq_vectors iscsi iwlwifi iwlwifi_data iwlwifi_io iwlwifi_msg iwlwifi_ucode jbd jbd2
kcsan kmem ksm kvm kvmmmu kyber libata lock mac80211 mac80211_msg maple_tree mce mctp mdio mei memcg migrate mlx5 mmap
mmap_lock mmc module mptcp msr napi neigh net netfs netlink nfs nfs4 nfsd nilfs2 nmi notifier nvme nvmet objagg ocfs2
oom opal osnoise page_isolation page_pool page_ref pagemap panfrost percpu power powerpc preemptirq printk pwm qdisc
qrtr random ras raw_syscalls rcu readahead regmap regulator rpcgss rpcrdma rpm rseq rv rxrpc s390 sched sched_ext scmi
scsi scsi_ata signal siox skb smbus smc sock sof sof_intel spi spmi sunrpc swiotlb sync_trace syscalls target task tcp
tegra_apb_dma thermal thermal_power_allocator thp timer timer_migration timestamp tlb udp ufs v4l2 vb2 vmalloc vmscan
vsock vsyscall watchdog wbt workqueue writeback x86_fpu xdp xe xen xfs xfs_scrub xhci-hcd
"""
